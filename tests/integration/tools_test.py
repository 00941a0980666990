"""Ordinary programs and system calls over a mount, and what they may not do there."""

import ctypes
import errno
import filecmp
import mmap
import os
import shutil
import stat
import subprocess
import tarfile

import numpy as np
import pytest

import mounting
from npycraft import c_bytes, npy
from zipcraft import DEFLATE, archive, member

GRID = np.random.default_rng(3).standard_normal((700, 333)).astype("<f4")
PAGE = 4096


@pytest.fixture
def m(mount, home):
    """A stored, a deflated and a Fortran array, and a text, one of them in a directory."""
    (home / "x.npz").write_bytes(archive([
        member("stored.npy", npy(GRID)), member("deflated.npy", npy(GRID), method=DEFLATE),
        member("sub/fortran.npy", npy(np.asfortranarray(GRID))), member("note.txt", b"hello\n")]))
    return mount(home / "x.npz")


def sh(command):
    """What a shell command prints; it must succeed and say nothing on stderr."""
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False, timeout=250)
    assert done.returncode == 0 and not done.stderr, f"{command}: {done.returncode} {done.stderr.decode()}"
    return done.stdout


def test_cp_of_one_array(m, home):
    sh(f"cp {m.path}/deflated.npy {home}/copy.npy")
    assert np.array_equal(np.load(home / "copy.npy"), GRID)
    assert stat.S_IMODE((home / "copy.npy").stat().st_mode) & 0o200, "the copy can't be written"


@pytest.mark.parametrize("command", [
    "cp -r {m} {c}", "cp -a {m} {c}", "cp -r --reflink=auto --sparse=always {m} {c}", "rsync -a {m}/ {c}/",
    "mkdir {c} && tar -C {m} -cf - . | tar -C {c} -xf -", "mkdir {c} && tar -C {m} -S -cf - . | tar -C {c} -xf -"])
def test_whole_trees_are_copied(m, home, command):
    sh(command.format(m=m.path, c=home / "copy"))
    sh(f"diff -r {m.path} {home}/copy")
    assert mounting.tree(m.path) == mounting.tree(home / "copy")
    shutil.rmtree(home / "copy")


def test_tar_of_a_mount_can_be_listed(m, home):
    sh(f"tar -C {m.path} -cf {home}/all.tar .")
    with tarfile.open(home / "all.tar") as tar:
        sizes = {entry.name: entry.size for entry in tar if entry.isfile()}
    assert sizes["./stored.raw"] == GRID.nbytes and len(sizes) == 13


@pytest.mark.parametrize("name", ["stored", "deflated", "sub/fortran"])
@pytest.mark.parametrize("block, skip, count", [(1332, 100, 1), (1, 12345, 77), (1000003, 0, 2), (7, 3, 9),
                                               (1 << 20, 0, 9), (999, 932, 5)])
def test_dd_of_any_size(m, name, block, skip, count):
    got = sh(f"dd if={m.path}/{name}.raw bs={block} skip={skip} count={count} status=none")
    assert got == c_bytes(GRID)[block * skip:block * (skip + count)]


@pytest.mark.parametrize("name", ["stored", "deflated", "sub/fortran"])
def test_dd_past_the_page_cache(m, name):
    got = sh(f"dd if={m.path}/{name}.raw iflag=direct bs=64K status=none")
    assert got == c_bytes(GRID)


def test_checksums_and_comparisons(m, home):
    (home / "grid.raw").write_bytes(c_bytes(GRID))
    wanted = sh(f"sha256sum < {home}/grid.raw")
    for name in ("stored", "deflated", "sub/fortran"):
        assert sh(f"sha256sum < {m.path}/{name}.raw") == wanted
        sh(f"cmp {m.path}/{name}.raw {home}/grid.raw")
        sh(f"cat {m.path}/{name}.raw | cmp - {home}/grid.raw")
        assert filecmp.cmp(m.path / f"{name}.raw", home / "grid.raw", shallow=False)


def test_find_du_stat_and_ls(m):
    assert len(sh(f"find {m.path} -type f").split()) == 13
    assert len(sh(f"find {m.path} -name '*.raw' -size +100k").split()) == 3
    apparent = int(sh(f"du -sb {m.path}/stored.raw").split()[0])
    blocks = int(sh(f"du -s --block-size=512 {m.path}/stored.raw").split()[0])
    assert apparent == GRID.nbytes and blocks == -(-GRID.nbytes // 512)
    assert int(sh(f"stat -c %s {m.path}/deflated.npy")) == len(npy(GRID))
    assert len(sh(f"ls -lR {m.path}").splitlines()) > 13
    assert sh(f"head -c 6 {m.path}/stored.npy") == b"\x93NUMPY"
    assert b"NUMPY" in sh(f"xxd -l 16 {m.path}/stored.npy")
    assert sh(f"tail -c 100 {m.path}/deflated.raw") == c_bytes(GRID)[-100:]
    assert sh(f"wc -c < {m.path}/sub/fortran.raw").strip() == str(GRID.nbytes).encode()
    assert sh(f"stat -f -c %T {m.path}").strip() != b""


@pytest.mark.parametrize("name", ["stored", "deflated", "sub/fortran"])
@pytest.mark.parametrize("mode", [None, "r", "c"])
def test_numpy_reads_and_maps(m, name, mode):
    loaded = np.load(m.path / f"{name}.npy", mmap_mode=mode)
    assert np.array_equal(loaded, GRID)
    if mode:
        assert isinstance(loaded, np.memmap)
    assert np.array_equal(np.fromfile(m.path / f"{name}.raw", "<f4").reshape(GRID.shape), GRID)
    assert np.array_equal(np.memmap(m.path / f"{name}.raw", "<f4", mode or "r", shape=GRID.shape), GRID)


def test_numpy_maps_to_write_fail_cleanly(m):
    assert mounting.errno_name(np.load, m.path / "stored.npy", mmap_mode="r+") in ("EROFS", "EACCES")
    assert mounting.errno_name(np.memmap, m.path / "stored.raw", "<f4", "r+") in ("EROFS", "EACCES")


@pytest.mark.parametrize("name", ["stored", "deflated", "sub/fortran"])
@pytest.mark.parametrize("flags", [mmap.MAP_SHARED, mmap.MAP_PRIVATE])
def test_mappings_show_the_bytes_and_zeros_past_the_end(m, name, flags):
    with open(m.path / f"{name}.raw", "rb") as file:
        with mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ) as mapping:
            assert mapping[:] == c_bytes(GRID)
            assert mapping[5000:5003] == c_bytes(GRID)[5000:5003]


@pytest.mark.parametrize("name", ["stored", "deflated", "sub/fortran"])
def test_sendfile(m, home, name):
    with open(m.path / f"{name}.raw", "rb") as source, open(home / "out", "wb") as out:
        sent, size = 0, GRID.nbytes
        while sent < size:
            sent += os.sendfile(out.fileno(), source.fileno(), sent, min(100_001, size - sent))
    assert (home / "out").read_bytes() == c_bytes(GRID)


@pytest.mark.parametrize("name", ["stored", "deflated", "sub/fortran"])
def test_copy_file_range(m, home, name):
    with open(m.path / f"{name}.raw", "rb") as source, open(home / "out", "wb") as out:
        try:
            while os.copy_file_range(source.fileno(), out.fileno(), 1 << 20):
                pass
        except OSError as error:
            assert error.errno == errno.EXDEV
            return
    assert (home / "out").read_bytes() == c_bytes(GRID)


@pytest.mark.parametrize("name", ["stored", "deflated", "sub/fortran"])
def test_direct_reads_into_aligned_buffers(m, name):
    wanted = c_bytes(GRID)
    descriptor = os.open(m.path / f"{name}.raw", os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 16 * PAGE)
    for offset in (0, 3 * PAGE, 17 * PAGE, len(wanted) // PAGE * PAGE):
        count = os.preadv(descriptor, [buffer], offset)
        assert buffer[:count] == wanted[offset:offset + 16 * PAGE]
    os.close(descriptor)


def test_readv_seek_and_holes(m):
    with open(m.path / "stored.raw", "rb", buffering=0) as file:
        first, second = bytearray(100), bytearray(200)
        assert os.readv(file.fileno(), [first, second]) == 300
        assert bytes(first + second) == c_bytes(GRID)[:300]
        assert file.seek(0, os.SEEK_END) == GRID.nbytes
        assert os.lseek(file.fileno(), 10, os.SEEK_DATA) == 10
        assert os.lseek(file.fileno(), 10, os.SEEK_HOLE) == GRID.nbytes


def test_many_handles_on_one_file(m):
    handles = [open(m.path / "deflated.raw", "rb") for _ in range(200)]
    for i, handle in enumerate(handles):
        handle.seek(i * 1000)
        assert handle.read(10) == c_bytes(GRID)[i * 1000:i * 1000 + 10]
    assert m.stats()["open_handles"] >= 200
    for handle in handles:
        handle.close()


WRITES = {
    "open for writing": lambda p: open(p / "stored.npy", "r+b"),
    "open to append": lambda p: open(p / "stored.npy", "ab"),
    "open to cut": lambda p: os.open(p / "stored.npy", os.O_RDONLY | os.O_TRUNC),
    "create": lambda p: open(p / "new", "wb"),
    "create in a directory": lambda p: open(p / "sub/new", "xb"),
    "unlink": lambda p: os.unlink(p / "stored.raw"),
    "mkdir": lambda p: os.mkdir(p / "new"),
    "rmdir": lambda p: os.rmdir(p / "sub"),
    "rename": lambda p: os.rename(p / "stored.raw", p / "other.raw"),
    "link": lambda p: os.link(p / "stored.raw", p / "other.raw"),
    "symlink": lambda p: os.symlink("x", p / "new"),
    "mkfifo": lambda p: os.mkfifo(p / "new"),
    "chmod": lambda p: os.chmod(p / "stored.raw", 0o600),
    "chown": lambda p: os.chown(p / "stored.raw", 1, 1),
    "utime": lambda p: os.utime(p / "stored.raw", (1, 1)),
    "truncate": lambda p: os.truncate(p / "stored.raw", 0),
    "setxattr": lambda p: os.setxattr(p / "stored.raw", "user.x", b"y"),
    "removexattr": lambda p: os.removexattr(p / "stored.raw", "user.x"),
}


@pytest.mark.parametrize("what", WRITES)
def test_nothing_can_be_written(m, what):
    before = sorted(os.listdir(m.path))
    assert mounting.errno_name(WRITES[what], m.path) == "EROFS"
    assert sorted(os.listdir(m.path)) == before


def test_the_control_files_cannot_be_written(m):
    for name in ("stats.json", "errors.json", "manifest.json"):
        assert mounting.errno_name(open, m.control / name, "r+b") == "EROFS"
    assert mounting.errno_name(os.access, m.control, os.W_OK) is None and not os.access(m.path / "stored.npy", os.W_OK)


def test_extended_attributes_are_not_supported(m):
    assert mounting.errno_name(os.getxattr, m.path / "stored.npy", "user.x") == "EOPNOTSUPP"
    assert mounting.errno_name(os.getxattr, m.path / "stored.npy", "security.selinux") == "EOPNOTSUPP"
    assert mounting.errno_name(os.listxattr, m.path / "stored.npy") in (None, "EOPNOTSUPP")


def test_wrong_uses_are_answered(m):
    assert mounting.errno_name(open, m.path / "sub", "rb") == "EISDIR"
    assert mounting.errno_name(os.listdir, m.path / "stored.npy") == "ENOTDIR"
    assert mounting.errno_name(os.stat, m.path / "stored.npy/x") == "ENOTDIR"
    assert mounting.errno_name(os.stat, m.path / "nothing.npy") == "ENOENT"
    assert mounting.errno_name(os.stat, m.path / ("n" * 256)) in ("ENAMETOOLONG", "ENOENT")
    assert mounting.errno_name(os.stat, m.path / ("n" * 255)) == "ENOENT"
    assert mounting.errno_name(os.readlink, m.path / "stored.npy") == "EINVAL"
    with open(m.path / "stored.npy", "rb") as file:
        assert ctypes.CDLL(None, use_errno=True).fsync(file.fileno()) in (0, -1)


def test_a_listing_can_be_read_twice_and_resumed(mount, home):
    (home / "many.npz").write_bytes(archive([member(f"{i}.npy", npy(np.arange(1))) for i in range(3000)]))
    m = mount(home / "many.npz")
    names = os.listdir(m.path)
    assert len(set(names)) == len(names) == 12_000
    assert os.listdir(m.path) == names
    with os.scandir(m.path) as first, os.scandir(m.path) as second:
        half = [next(first).name for _ in range(5000)]
        assert [next(second).name for _ in range(5000)] == half
        assert half + [entry.name for entry in first] == names
