"""npyfs, and the programs it is measured against: how each is mounted, watched and unmounted."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """What a system could not do, in a few words for the table."""


def peers():
    """Name -> command line without archive and mount point, for those that are installed."""
    beside_python = pathlib.Path(sys.executable).parent / "ratarmount"
    known = {
        "fuse-zip": [shutil.which("fuse-zip"), "-f", "-r"],
        "archivemount": [shutil.which("archivemount"), "-f", "-o", "readonly"],
        "mount-zip": [shutil.which("mount-zip"), "-f"],
        "ratarmount": [str(beside_python) if beside_python.exists() else shutil.which("ratarmount"), "-f",
                       "--index-file", ":memory:"],
    }
    return {name: command for name, command in known.items() if command[0]}


def command_for(system, npyfs, options=()):
    return [npyfs, "mount", "-f", *options] if system == "npyfs" else peers()[system]


class TooSlow(Failed):
    pass


class Mounted:
    """An archive mounted by a process of ours, in a session of its own as a daemon is, since the kernel shares out
    the processors by session; `seconds` is how long that took."""

    def __init__(self, command, archive, limit_seconds):
        self.command, self.archive, self.limit_seconds = command, str(archive), limit_seconds

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="npyfs-bench-")
        outside = os.stat(self.directory).st_dev
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*self.command, self.archive, self.directory], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        self.peak = 0
        start = time.perf_counter()
        while not self._answers(outside):
            if self.process.poll() is not None or time.perf_counter() - start > self.limit_seconds:
                self.log.seek(0)
                text = self.log.read().decode(errors="replace").strip().splitlines()
                self.__exit__()
                raise Failed(f"no mount: {text[-1] if text else 'no message'}")
            time.sleep(0.001)
        self.seconds = time.perf_counter() - start
        self.at_start = self.cpu()
        self.stop = threading.Event()
        self.watcher = threading.Thread(target=self._watch)
        self.watcher.start()
        return self

    def _answers(self, outside):
        try:
            return os.stat(self.directory).st_dev != outside
        except OSError:
            return False

    def cpu(self):
        """Seconds of processor time that the daemon has used."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self):
        """Bytes that are the daemon's own: pages of the archive, lent by a mapping, don't count."""
        return self._status("RssAnon:", "RssShmem:")

    def highest(self):
        """The most bytes it ever had, from its start on; those that aren't its own count, too."""
        return self._status("VmHWM:")

    def _status(self, *names):
        try:
            lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        except OSError:
            return 0
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(names))

    def _watch(self):
        while not self.stop.wait(0.1):
            self.peak = max(self.peak, self.memory())

    def __exit__(self, *_):
        if hasattr(self, "watcher"):
            self.peak = max(self.peak, self.memory())
            self.stop.set()
            self.watcher.join()
        subprocess.run(["fusermount3", "-u", self.directory], capture_output=True)
        if os.path.ismount(self.directory):
            subprocess.run(["umount", "-l", self.directory], capture_output=True)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.rmdir(self.directory)


def read(work, *arguments, limit_seconds=300):
    """Runs bench_reader.py; its result, or Failed."""
    reader = pathlib.Path(__file__).with_name("bench_reader.py")
    try:
        done = subprocess.run([sys.executable, str(reader), work, *map(str, arguments)], capture_output=True, text=True,
                              timeout=limit_seconds)
    except subprocess.TimeoutExpired:
        raise TooSlow(f"over {limit_seconds} s") from None
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or ["failed"])[-1])
    return json.loads(done.stdout)
