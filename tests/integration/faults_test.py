"""Sources that change under the mount, and daemons and mount points in trouble."""

import concurrent.futures
import mmap
import os
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import mounting
from npycraft import npy
from zipcraft import DEFLATE, archive, member

A, B = np.arange(6, dtype="<f4"), np.arange(5, dtype="<i8")
OLD, NEW = (np.full(3_000_000, value, np.uint8) for value in (1, 2))
MEBIBYTE = 1 << 20


def archive_of(array, method):
    return archive([member("x.npy", npy(array), method=method), member("tail.npy", npy(B))])


@pytest.fixture(params=[0, DEFLATE], ids=["stored", "deflated"])
def method(request):
    return request.param


def read_all(path):
    """What a careful copy gets: all bytes and a close that succeeds, or an OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        pieces = []
        while piece := os.read(descriptor, MEBIBYTE):
            pieces.append(piece)
    except OSError:
        closing(descriptor)
        raise
    os.close(descriptor)
    return b"".join(pieces)


def closing(descriptor):
    """Closes it whatever close says: a close that fails has closed all the same."""
    try:
        os.close(descriptor)
    except OSError:
        pass


def later(path):
    """Gives a file another time of modification, however coarse the clock is."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))


def is_stale(m):
    """Reading anything of the source fails, and the daemon lives."""
    for name in ("x.raw", "x.npy", "tail.npy"):
        assert mounting.errno_name(read_all, m.path / name) in ("ESTALE", "EIO"), name
    assert m.alive and len(os.listdir(m.path)) == 8
    assert m.stats()["pid"] == m.pid
    return True


CHANGES = {
    "cut": lambda path, new: os.truncate(path, path.stat().st_size // 2),
    "cut to nothing": lambda path, new: os.truncate(path, 0),
    "appended": lambda path, new: path.open("ab").write(b"more"),
    "rewritten in place": lambda path, new: path.write_bytes(new),
    "touched": lambda path, new: later(path),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_source_changed_in_place_is_stale_for_good(mount, home, method, change):
    path = home / "x.npz"
    path.write_bytes(archive_of(OLD, method))
    m = mount(path, announced=["x.npz", "stale", "changed", "x.npy"])
    assert read_all(m.path / "x.raw") == OLD.tobytes()
    CHANGES[change](path, archive_of(NEW, method))
    if change != "touched":
        later(path)
    assert is_stale(m)
    path.write_bytes(archive_of(OLD, method))
    assert is_stale(m)
    assert "x.npz" in m.log()
    assert any(error["errno"] in ("ESTALE", "EIO") for error in m.errors())


def test_a_copy_in_progress_never_ends_well_with_a_mix(mount, home, method):
    path = home / "x.npz"
    path.write_bytes(archive_of(OLD, method))
    m = mount(path, announced=["x.npz", "stale", "changed", "x.npy"])
    descriptor = os.open(m.path / "x.raw", os.O_RDONLY)
    # Nothing is read ahead: what is just being sent when the source changes may be of either.
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    got = os.read(descriptor, 100_000)
    path.write_bytes(archive_of(NEW, method))
    later(path)
    try:
        while piece := os.read(descriptor, MEBIBYTE):
            got += piece
        os.close(descriptor)
        failed = False
    except OSError as error:
        failed = mounting.name_of(error) in ("ESTALE", "EIO")
        closing(descriptor)
    assert failed, "the copy ended well"
    assert NEW.tobytes()[:1] not in got


def test_a_checked_close_fails_after_a_change(mount, home):
    path = home / "x.npz"
    path.write_bytes(archive_of(OLD, 0))
    m = mount(path, announced=["x.npz", "stale", "changed", "x"])
    descriptor = os.open(m.path / "x.raw", os.O_RDONLY)
    os.read(descriptor, 100)
    later(path)
    assert mounting.errno_name(os.close, descriptor) in ("ESTALE", "EIO")


def test_mapped_pages_of_a_cut_source_are_an_error_for_the_reader_alone(mount, home):
    path = home / "x.npz"
    path.write_bytes(archive_of(OLD, 0))
    m = mount(path, announced=["x.npz", "stale", "changed", "x"])
    reader = """
import mmap, os, sys
file = open(sys.argv[1], "rb")
mapping = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
assert mapping[0] == 1
os.truncate(sys.argv[2], 1000)
print(sum(mapping[::4096]))
"""
    done = subprocess.run([sys.executable, "-c", reader, m.path / "x.raw", path], capture_output=True, check=False)
    assert done.returncode == -signal.SIGBUS
    assert m.alive and m.stats()["pid"] == m.pid
    assert mounting.errno_name(read_all, m.path / "x.raw") in ("ESTALE", "EIO")


def test_only_the_time_of_its_inode_says_nothing(mount, home, method):
    path = home / "x.npz"
    path.write_bytes(archive_of(OLD, method))
    m = mount(path)
    path.chmod(0o600)
    os.link(path, home / "link")
    path.rename(home / "elsewhere.npz")
    assert read_all(m.path / "x.raw") == OLD.tobytes()


def test_a_source_replaced_by_rename_goes_on_as_it_was(mount, home, method):
    path = home / "x.npz"
    path.write_bytes(archive_of(OLD, method))
    m = mount(path)
    (home / "new.npz").write_bytes(archive_of(NEW, method))
    os.replace(home / "new.npz", path)
    assert read_all(m.path / "x.raw") == OLD.tobytes()
    assert m.stats()["replaced"] is True
    m.unmount()
    again = mount(path)
    assert read_all(again.path / "x.raw") == NEW.tobytes()
    assert again.stats()["replaced"] is False


def test_a_source_removed_goes_on_as_it_was(mount, home, method):
    path = home / "x.npz"
    path.write_bytes(archive_of(OLD, method))
    m = mount(path)
    path.unlink()
    assert read_all(m.path / "x.raw") == OLD.tobytes()
    assert np.array_equal(np.load(m.path / "tail.npy"), B)


@pytest.fixture
def shards(mount, home):
    (home / "model").mkdir()
    for name in ("a", "b"):
        (home / f"model/{name}.npy").write_bytes(npy(A))
    np.savez(home / "model/w.npz", w=A)
    return mount(home / "model", announced=[r"\ba\b", "a.npy", "stale"])


@pytest.mark.parametrize("change", ["rewritten", "replaced", "cut", "removed"])
def test_a_shard_that_changes_leaves_the_others_alone(shards, home, change):
    shard = home / "model/a.npy"
    if change == "removed":
        shard.unlink()
    elif change == "cut":
        os.truncate(shard, 100)
    elif change == "replaced":
        (home / "other").write_bytes(npy(A + 1))
        os.replace(home / "other", shard)
    else:
        shard.write_bytes(npy(A + 1))
        later(shard)
    try:
        # One that is open already goes on as it was, if it wasn't touched.
        assert read_all(shards.path / "a.raw") == A.tobytes() and change in ("replaced", "removed")
    except OSError as error:
        assert mounting.name_of(error) in ("ESTALE", "EIO") or change == "removed"
        assert any("a" in entry["where"] for entry in shards.errors())
    assert np.array_equal(np.load(shards.path / "b.npy"), A) and np.array_equal(np.load(shards.path / "w/w.npy"), A)


def test_sigterm_unmounts_and_ends(mount, home):
    np.savez(home / "x.npz", x=A)
    for number in (signal.SIGTERM, signal.SIGINT):
        m = mount(home / "x.npz")
        os.kill(m.pid, number)
        m.wait()
        assert not os.path.ismount(m.path) and m.status == 0


def test_sigterm_with_files_open(mount, home):
    np.savez(home / "x.npz", x=OLD)
    m = mount(home / "x.npz")
    file = open(m.path / "x.raw", "rb")
    mapping = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    assert mapping[0] == 1
    os.kill(m.pid, signal.SIGTERM)
    m.wait()
    assert not os.path.ismount(m.path) and m.status == 0
    mapping.close()
    assert mounting.errno_name(file.close) in (None, "ENOTCONN")


def test_a_killed_daemon_leaves_a_mount_point_that_umount_clears(mount, npyfs, home):
    np.savez(home / "x.npz", x=A)
    m = mount(home / "x.npz")
    os.kill(m.pid, signal.SIGKILL)
    m.wait()
    assert mounting.errno_name(os.listdir, m.path) == "ENOTCONN"
    assert "a mount whose program has died" in npyfs.refused("mount", home / "x.npz", m.path)
    npyfs.ok("umount", m.path)
    assert str(m.path) not in mounting.mounts()
    m.expected_status = -signal.SIGKILL
    again = mount(home / "x.npz", point=m.path)
    assert np.array_equal(np.load(again.path / "x.npy"), A)


@pytest.fixture
def auto_unmounted(mount, home):
    """A mount whose daemon is to be killed."""
    np.savez(home / "x.npz", x=A)
    m = mount(home / "x.npz", "-o", "auto_unmount")
    m.expected_status = -signal.SIGKILL
    return m


def test_auto_unmount_leaves_no_dead_mount_point(auto_unmounted):
    os.kill(auto_unmounted.pid, signal.SIGKILL)
    mounting.eventually(lambda: str(auto_unmounted.path) not in mounting.mounts(), "unmounted")


def test_auto_unmount_works_while_other_mounts_come_and_go(mount, npyfs, home):
    np.savez(home / "x.npz", x=A)
    over = threading.Event()

    def come_and_go(other):
        while not over.is_set():
            npyfs.ok("mount", home / "x.npz", other)
            npyfs.ok("umount", other)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        others = [pool.submit(come_and_go, home / f"other{n}") for n in range(2)]
        try:
            for round_ in range(10):
                m = mount(home / "x.npz", "-o", "auto_unmount", point=home / f"killed{round_}")
                os.kill(m.pid, signal.SIGKILL)
                m.expected_status = -signal.SIGKILL
                mounting.eventually(lambda path=str(m.path): path not in mounting.mounts(), "unmounted")
        finally:
            over.set()
        for other in others:
            other.result()


def test_auto_unmount_takes_away_what_is_still_in_use(auto_unmounted):
    descriptor = os.open(auto_unmounted.path / "x.npy", os.O_RDONLY)
    os.kill(auto_unmounted.pid, signal.SIGKILL)
    mounting.eventually(lambda: str(auto_unmounted.path) not in mounting.mounts(), "unmounted")
    assert mounting.errno_name(os.close, descriptor) == "ENOTCONN"


def test_auto_unmount_leaves_another_mount_alone(mount, npyfs, home):
    """Who unmounted by hand and mounted anew at that place keeps it."""
    np.savez(home / "x.npz", x=A)
    m = mount(home / "x.npz", "-o", "auto_unmount")
    watchers = mounting.children(of=m.pid)
    assert len(watchers) == 1
    npyfs.command("umount", "-l", m.path)
    again = mount(home / "x.npz", point=m.path)
    m.wait()
    mounting.eventually(lambda: not mounting.command_line(watchers[0]), "the watcher has ended")
    assert np.array_equal(np.load(again.path / "x.npy"), A)


def test_a_missing_mount_point_is_made_and_removed_again(mount, home):
    np.savez(home / "x.npz", x=A)
    m = mount(home / "x.npz", point=home / "made")
    assert np.array_equal(np.load(m.path / "x.npy"), A)
    m.unmount()
    assert not (home / "made").exists()


def test_a_mount_point_that_was_there_stays(mount, home):
    np.savez(home / "x.npz", x=A)
    m = mount(home / "x.npz")
    m.unmount()
    assert m.path.is_dir() and os.listdir(m.path) == []


def test_a_made_mount_point_is_removed_when_the_mount_fails(npyfs, home):
    (home / "x.npz").write_bytes(b"no archive")
    npyfs.refused("mount", home / "x.npz", home / "made")
    assert not (home / "made").exists()


def test_a_busy_mount_is_not_unmounted(mount, npyfs, home):
    np.savez(home / "x.npz", x=A)
    m = mount(home / "x.npz")
    with open(m.path / "x.npy", "rb"):
        message = npyfs.refused("umount", m.path)
        assert "busy" in message and str(m.path) in message
        assert os.path.ismount(m.path) and m.alive
    m.unmount()


@pytest.mark.parametrize("kind", ["not empty", "a file", "below a file", "no parent", "mounted already"])
def test_mount_points_that_will_not_do(mount, npyfs, home, kind):
    np.savez(home / "x.npz", x=A)
    point = home / "point"
    if kind == "not empty":
        (point / "something").mkdir(parents=True)
    elif kind == "a file":
        point.write_bytes(b"mine")
    elif kind == "below a file":
        point.write_bytes(b"mine")
        point = point / "x"
    elif kind == "no parent":
        point = home / "no/such/parent"
    elif kind == "mounted already":
        point = mount(home / "x.npz").path
    message = npyfs.run("mount", home / "x.npz", point)
    assert message.returncode == 1, message.stderr
    assert message.stderr.startswith("npyfs: ") and str(point) in message.stderr
    if kind == "not empty":
        assert "empty" in message.stderr and "nonempty" in message.stderr
        assert os.listdir(point) == ["something"]


def test_nonempty_allows_a_mount_point_with_something_in_it(mount, home):
    np.savez(home / "x.npz", x=A)
    (home / "point").mkdir()
    (home / "point/mine").write_bytes(b"mine")
    m = mount(home / "x.npz", "-o", "nonempty", point=home / "point")
    assert np.array_equal(np.load(m.path / "x.npy"), A) and not (m.path / "mine").exists()
    m.unmount()
    assert (home / "point/mine").read_bytes() == b"mine"


@pytest.mark.parametrize("point", [".", "mnt", "new"])
def test_a_directory_is_not_mounted_over_or_below_itself(npyfs, home, point):
    (home / "model/mnt").mkdir(parents=True)
    (home / "model/a.npy").write_bytes(npy(A))
    message = npyfs.refused("mount", home / "model", home / "model" / point, "-o", "nonempty")
    assert "source" in message
    assert sorted(os.listdir(home / "model")) == ["a.npy", "mnt"]


@pytest.mark.parametrize("arguments, status, words", [
    (["{s}"], 2, "MOUNTPOINT"),
    ([], 2, "SOURCE"),
    (["{s}", "{m}", "-o", "nonsense"], 2, "nonsense"),
    (["{s}", "{m}", "-o", "uid=me"], 2, "uid"),
    (["{s}", "{m}", "-o", "umask=9"], 2, "umask"),
    (["{s}", "{m}", "--nonsense"], 2, "--nonsense"),
    (["{s}", "{m}", "--views", "raw:what"], 2, "what"),
    (["{s}", "{m}", "--dtype", "float8_e5m2"], 2, "dtype"),
    (["{s}", "{m}", "--dtype", "*=float7"], 2, "float7"),
    (["{s}", "{m}", "--cache-size", "much"], 2, "cache-size"),
    (["{s}", "{m}", "--threads", "-1"], 2, "threads"),
    (["{s}", "{m}", "more"], 2, "more"),
    (["{s}.missing", "{m}"], 1, "No such file|no such file|does not exist"),
    (["{s}", "{m}", "--log-file", "/proc/no.log"], 1, "/proc/no.log"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_wrong_usage_says_what_and_how(npyfs, home, arguments, status, words):
    np.savez(home / "x.npz", x=A)
    filled = [argument.format(s=home / "x.npz", m=home / "mnt") for argument in arguments]
    message = npyfs.refused("mount", *filled, status=status)
    assert re.search(words, message), message
    assert not (home / "mnt").exists()


def test_umount_of_what_is_no_mount(npyfs, home):
    for point in (home, home / "missing"):
        assert str(point) in npyfs.refused("umount", point)
    assert npyfs.run("umount").returncode == 2


def test_umount_of_another_filesystem_is_refused(npyfs):
    message = npyfs.refused("umount", "/proc")
    assert "/proc" in message and os.path.ismount("/proc")


def test_no_fuse_device(npyfs, home):
    np.savez(home / "x.npz", x=A)
    (home / "mnt").mkdir()
    script = f"mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && {npyfs.binary} mount {home}/x.npz {home}/mnt"
    done = npyfs.in_namespace(script)
    assert done.returncode == 1 and "/dev/fuse" in done.stderr and "npyfs: " in done.stderr
    assert "extract" in done.stderr or "modprobe" in done.stderr, "no way out"


# A namespace in which /dev/fuse may be used by everybody, as on most machines; here root alone may.
AS_PLAIN_USER = """
set -e
mount -t tmpfs -o mode=755 none {home}/dev
mknod -m 666 {home}/dev/fuse c 10 229
mount --bind {home}/dev/fuse /dev/fuse
exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -ec '{command}'
"""


def as_plain_user(npyfs, home, command):
    (home / "dev").mkdir(exist_ok=True)
    return npyfs.in_namespace(AS_PLAIN_USER.format(home=home, command=command.format(npyfs=npyfs.binary, home=home)))


def test_a_plain_user_mounts_and_unmounts(npyfs, home):
    np.savez(home / "x.npz", x=A)
    (home / "user").mkdir()
    os.chown(home / "user", 65534, 65534)
    done = as_plain_user(npyfs, home, """
        {npyfs} mount {home}/x.npz {home}/user/mnt
        stat -c "%U %a %s" {home}/user/mnt/x.raw
        {npyfs} umount {home}/user/mnt
        test ! -e {home}/user/mnt
    """)
    assert (done.returncode, done.stdout) == (0, f"nobody 644 {A.nbytes}\n"), done.stderr


def test_a_plain_user_is_told_that_reading_ahead_takes_root(npyfs, home):
    np.savez(home / "x.npz", x=A)
    (home / "user").mkdir()
    os.chown(home / "user", 65534, 65534)
    done = as_plain_user(npyfs, home, """
        {npyfs} mount --readahead 512 {home}/x.npz {home}/user/mnt
        test -e {home}/user/mnt/x.raw
        {npyfs} umount {home}/user/mnt
        {npyfs} mount {home}/x.npz {home}/user/mnt
        {npyfs} umount {home}/user/mnt
    """)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(rf"npyfs: {home}/user/mnt: --readahead 512: /sys/class/bdi/\d+:\d+/read_ahead_kb: "
                        "(Permission denied|Read-only file system), so the kernel's own holds; mount as root to set it",
                        line), line


def test_a_mount_that_can_have_few_threads_answers_or_is_refused(npyfs, home):
    np.savez_compressed(home / "x.npz", x=A)
    (home / "user").mkdir()
    os.chown(home / "user", 65534, 65534)
    # The sanitizer's search for leaks takes a thread too.
    done = as_plain_user(npyfs, home, r"""
        export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
        for most in $(seq 1 40); do
          status=0
          timeout -s KILL 20 prlimit --nproc=$most {npyfs} mount {home}/x.npz {home}/user/mnt 2>&1 || status=$?
          echo $most ended with $status
          if [ $status -eq 0 ]; then
            test "$(wc -c < {home}/user/mnt/x.raw)" -gt 0
            {npyfs} umount {home}/user/mnt
          fi
          if grep {home}/user/mnt /proc/mounts || test -e {home}/user/mnt; then exit 3; fi
        done
    """)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    ended = [line for line in lines if " ended with " in line]
    assert {line.split()[-1] for line in ended} == {"0", "1"}, done.stdout
    before = {lines[lines.index(line) - 1] for line in ended if line.endswith(" 1")}
    # Not at the front of its line where libfuse 3.17 ends one of its own without a newline.
    assert all(re.search("npyfs: .*(fork|can't be mounted on|thread.*ulimit -u)", line) for line in before), before


def test_auto_unmount_works_for_a_plain_user(npyfs, home):
    np.savez(home / "x.npz", x=A)
    (home / "user").mkdir()
    os.chown(home / "user", 65534, 65534)
    done = as_plain_user(npyfs, home, r"""
        {npyfs} mount -o auto_unmount {home}/x.npz {home}/user/mnt
        kill -KILL $(grep -o "\"pid\": [0-9]*" {home}/user/mnt/.npyfs/stats.json | grep -o "[0-9]*$")
        for i in $(seq 200); do
          grep -q {home}/user/mnt /proc/mounts || exit 0
          sleep 0.1
        done
        exit 3
    """)
    assert done.returncode == 0, done.stderr


def test_a_plain_user_is_told_whose_mount_it_is(mount, npyfs, home):
    np.savez(home / "x.npz", x=A)
    m = mount(home / "x.npz", "-o", "allow_other")
    done = as_plain_user(npyfs, home, f"{{npyfs}} umount {m.path}")
    assert done.returncode == 1
    assert done.stderr == (f"npyfs: {m.path}: mounted by user 0, not by you (65534); that user or root may "
                           "unmount it\n")


def test_a_plain_user_needs_a_permit_for_allow_other(npyfs, home):
    np.savez(home / "x.npz", x=A)
    (home / "user").mkdir()
    os.chown(home / "user", 65534, 65534)
    done = as_plain_user(npyfs, home, "{npyfs} mount {home}/x.npz {home}/user/mnt -o allow_other")
    if "user_allow_other" in active_lines("/etc/fuse.conf"):
        assert done.returncode == 0
        return
    assert done.returncode == 1 and "user_allow_other" in done.stderr, done.stderr


def active_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if not line.startswith("#")]


def test_what_may_not_be_read_cannot_be_mounted(npyfs, home):
    np.savez(home / "x.npz", x=A)
    (home / "x.npz").chmod(0)
    (home / "user").mkdir()
    os.chown(home / "user", 65534, 65534)
    done = as_plain_user(npyfs, home, "{npyfs} mount {home}/x.npz {home}/user/mnt")
    assert done.returncode == 1 and "ermission" in done.stderr and "x.npz" in done.stderr


def test_nothing_is_written_to_the_source(mount, home):
    (home / "model").mkdir()
    np.savez(home / "model/x.npz", x=A)
    os.chmod(home / "model", 0o555)
    before = (home / "model/x.npz").stat()
    m = mount(home / "model")
    mounting.tree(m.path)
    m.unmount()
    after = (home / "model/x.npz").stat()
    assert (before.st_mtime_ns, before.st_size, before.st_mode) == (after.st_mtime_ns, after.st_size, after.st_mode)
    assert os.listdir(home / "model") == ["x.npz"]


def test_mounts_and_unmounts_in_a_row_leave_nothing(npyfs, home):
    np.savez(home / "x.npz", x=A)
    for _ in range(20):
        npyfs.ok("mount", home / "x.npz", home / "m")
        assert (home / "m/x.raw").read_bytes() == A.tobytes()
        npyfs.ok("umount", home / "m")
        assert not (home / "m").exists()
    assert not [pid for pid in mounting.children() if npyfs.binary.encode() in mounting.command_line(pid)]
