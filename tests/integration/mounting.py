"""A real mount by the program under test, and everything that must hold when it ends."""

import contextlib
import ctypes
import errno
import json
import os
import pathlib
import re
import select
import signal
import stat
import subprocess
import threading
import time

SUSPICIOUS = re.compile(r"error|warning|critical|exception|assert|terminate|abort|Sanitizer|==\d+==", re.IGNORECASE)
PR_SET_CHILD_SUBREAPER = 36


def children(of=None):
    """Process ids of the children of a process, ended ones too; of ours if no other is named.

    /proc/PID/task/TID/children is quicker, but leaves some out if others of them end meanwhile.
    """
    of = os.getpid() if of is None else of
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if int(stat_fields(pid)[1]) == of:
                found.append(int(pid))
    return found


def stat_fields(pid):
    """What /proc/PID/stat says behind the name: state, parent, group, session …"""
    return pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()


def has_ended(pid):
    """Whether all threads of a process are gone; somebody may still have to ask for its status."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 0)[0])
    finally:
        os.close(process)


class Daemons:
    """Daemons become children of ours once the program that started them exits; their end is noted here."""

    def __init__(self):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.ended = {}  # process id -> exit status
        self.cpu_seconds = {}  # of those
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while True:
            for task in pathlib.Path("/proc/self/task").iterdir():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError, ChildProcessError):
                    for pid in (task / "children").read_text().split():  # who is left out comes next time
                        self._look_at(int(pid))
            time.sleep(0.01)

    def _look_at(self, pid):
        state, _, _, session, *_ = stat_fields(pid)
        if state == "Z" and int(session) == pid:  # what subprocess started has our session
            _, status, used = os.wait4(pid, 0)
            self.cpu_seconds[pid] = used.ru_utime + used.ru_stime
            self.ended[pid] = os.waitstatus_to_exitcode(status)


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except (FileNotFoundError, ProcessLookupError):
        return []


def mounts():
    """Mount point -> (type, options, source) of everything mounted."""
    table = {}
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            source, point, kind, options, *_ = (field.encode().decode("unicode_escape") for field in line.split(" "))
            table[point] = (kind, options.split(","), source)
    return table


def errno_name(call, *arguments, **named):
    """The name of the error that a call ends with, or None."""
    try:
        call(*arguments, **named)
    except OSError as error:
        return name_of(error)
    return None


def name_of(error):
    """ENOTSUP has the same number as EOPNOTSUPP, and Python prefers that name."""
    return "EOPNOTSUPP" if error.errno == errno.EOPNOTSUPP else errno.errorcode[error.errno]


def eventually(condition, what, seconds=120):
    """Waits for `condition()` to be true. It takes so long only if it never will be, or on a very busy machine."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"after {seconds} s still not: {what}"
        time.sleep(0.01)


def tree(top):
    """Relative path -> content of each file below, None for a directory."""
    found = {}
    for directory, names, files in os.walk(top):
        for name in names:
            found[os.path.relpath(os.path.join(directory, name), top)] = None
        for name in files:
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, top)] = file.read()
    return found


class Program:
    """The npyfs under test, and where it leaves what it has to say."""

    def __init__(self, binary, scratch):
        self.binary, self.scratch = str(binary), pathlib.Path(scratch)
        self.environment = dict(os.environ)
        for tool in ("ASAN", "UBSAN", "TSAN", "LSAN"):
            given = self.environment.get(f"{tool}_OPTIONS")
            own = f"log_path={self.scratch}/sanitizer"
            self.environment[f"{tool}_OPTIONS"] = f"{given}:{own}" if given else own

    def command(self, *words, text=True, timeout=250, **options):
        """Runs any program; a CompletedProcess."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.run(list(map(os.fspath, words)), check=False, text=text, timeout=timeout,
                              env=self.environment, **options)

    def run(self, *arguments, **options):
        """Runs npyfs with these arguments."""
        return self.command(self.binary, *arguments, **options)

    def in_namespace(self, script):
        """Runs a shell script where mounts are its own and go with it.

        Those of other tests, which run beside this one, are let go first: their daemons live as long as their mounts
        are anywhere.
        """
        others = f"grep ' fuse.npyfs ' /proc/self/mounts | cut -d' ' -f2 | grep -v '^{self.scratch.parent}/'"
        let_go = f"{others} | xargs -r -n 1 umount -l 2> /dev/null"
        return self.command("unshare", "-m", "sh", "-c", f"{let_go}\n{script}")

    def ok(self, *arguments, **options):
        """The same; it must succeed. Returns its standard output."""
        done = self.run(*arguments, **options)
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}: {done.stderr}"
        return done.stdout

    def refused(self, *arguments, status=1, **options):
        """The same; it must fail as a program fails that knows why. Returns what it says on stderr."""
        done = self.run(*arguments, **options)
        assert done.returncode == status, f"{arguments} ended with {done.returncode}: {done.stderr}"
        assert done.stderr.startswith("npyfs: "), f"not a message of npyfs: {done.stderr!r}"
        return done.stderr

    def clear_away(self, home):
        """Ends what a failed test has left mounted below `home`."""
        for point in mounts():
            if point.startswith(f"{home}/"):
                subprocess.run(["umount", "-l", point], check=False, stderr=subprocess.DEVNULL)
        for pid in children():
            if any(word.startswith(f"{home}/".encode()) for word in command_line(pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def sanitizer_reports(self):
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.scratch.glob("sanitizer*")))


class Mount:
    """A mounted source. `path` is where; `announce` says which complaints the test is about."""

    def __init__(self, program, daemons, source, point, options=(), announced=(), verb=("mount",), **run_options):
        self.program, self.daemons, self.path = program, daemons, pathlib.Path(point)
        self.log_file = program.scratch / f"{self.path.name}.log"
        self.announced = [re.compile(pattern) for pattern in announced]
        self.expected_status = 0
        before = set(children())
        if verb:
            arguments = [*verb, "--log-file", self.log_file, *options, source, self.path]
        else:
            arguments = [source, self.path, "-o", ",".join([f"log-file={self.log_file}", *options])]
        done = program.run(*arguments, **run_options)
        self.stderr = done.stderr
        assert done.returncode == 0, f"mount of {source} ended with {done.returncode}: {done.stderr}"
        self.pid = self._daemon(before)

    def _daemon(self, before):
        """The process that serves the mount."""
        words = {os.fsencode(self.program.binary), os.fsencode(self.path)}
        new = [pid for pid in children() if pid not in before and words <= set(command_line(pid))]
        assert len(new) == 1, f"{len(new)} daemons for one mount"
        return new[0]

    def announce(self, pattern):
        self.announced.append(re.compile(pattern))

    @property
    def status(self):
        """How the daemon ended; None while it is there."""
        return self.daemons.ended.get(self.pid)

    @property
    def alive(self):
        return self.status is None

    @property
    def cpu_seconds(self):
        """How long the daemon has computed so far, or in all: it says how much it did, however busy the machine is."""
        if self.alive:
            return sum(map(int, stat_fields(self.pid)[11:13])) / os.sysconf("SC_CLK_TCK")
        return self.daemons.cpu_seconds[self.pid]

    @property
    def control(self):
        return self.path / ".npyfs"

    def manifest(self):
        """Path in the mount -> entry, in the order of the source."""
        entries = json.loads((self.control / "manifest.json").read_text())
        assert len({entry["path"] for entry in entries}) == len(entries), "a path twice in the manifest"
        return {entry["path"]: entry for entry in entries}

    def meta(self, name):
        return json.loads((self.path / f"{name}.meta.json").read_text())

    def errors(self):
        return json.loads((self.control / "errors.json").read_text())

    def stats(self):
        return json.loads((self.control / "stats.json").read_text())

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def unmount(self):
        """Unmounts as a user does, and waits for the daemon to end well."""
        if os.path.ismount(self.path):
            done = self.program.run("umount", self.path)
            assert done.returncode == 0, f"umount ended with {done.returncode}: {done.stderr}"
            assert not os.path.ismount(self.path), "umount said it is done, but it is mounted"
            assert has_ended(self.pid), "umount said it is done, but the daemon is there"
        self.wait()
        assert self.status == self.expected_status, f"the daemon ended with {self.status}; its log: {self.log()}"

    def wait(self, seconds=120):
        """Waits for the daemon's end, which something else has caused."""
        eventually(lambda: not self.alive, f"the daemon has ended; its log: {self.log()}", seconds)

    def unannounced(self):
        """Complaints on stderr and in the log that the test didn't speak of."""
        lines = [*self.stderr.splitlines(), *filter(SUSPICIOUS.search, self.log().splitlines())]
        return [line for line in lines if not any(pattern.search(line) for pattern in self.announced)]

    def clear_away(self):
        """Leaves nothing behind whatever happened."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            eventually(lambda: not self.alive, "the daemon has been killed")
        if self.path.as_posix() in mounts():
            subprocess.run(["umount", "-l", self.path], check=False, stderr=subprocess.DEVNULL)


def memory_of(pid):
    """Bytes of memory that are a process's own: lent mappings of files don't count."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return sum(int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024 for name in ("RssAnon", "RssShmem"))


def kind(path):
    """d or f, or whatever else it is."""
    return {stat.S_IFDIR: "d", stat.S_IFREG: "f"}.get(stat.S_IFMT(os.lstat(path).st_mode), "other")


class PeakMemory:
    """Looks, while it is entered, how much memory of its own a process has; `bytes` is the most that was seen."""

    def __init__(self, pid):
        self.pid, self.bytes, self._done = pid, 0, threading.Event()
        self._watcher = threading.Thread(target=self._watch)

    def _watch(self):
        while not self._done.wait(0.02):
            self.bytes = max(self.bytes, memory_of(self.pid))

    def __enter__(self):
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._watcher.join()


def peak_memory_of(pid):
    """The most memory of its own that a process has ever had, nearly: files were mapped then as they are now."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    most, files = (int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024 for name in ("VmHWM", "RssFile"))
    return max(most - files, memory_of(pid))
