"""What stat says of files, directories and the filesystem."""

import os
import pathlib
import stat
import time

import numpy as np
import pytest

import mounting
from npycraft import npy
from zipcraft import archive, member

A = np.arange(6, dtype="<f4")


@pytest.fixture
def source(home):
    path = home / "x.npz"
    path.write_bytes(archive([member("a.npy", npy(A)), member("d/b.npy", npy(np.zeros(0))), member("note", b"hi\n"),
                              member("odd.npy", npy(np.zeros(1000, "u1")))]))
    os.utime(path, ns=(1_600_000_000_123_456_789, 1_500_000_000_987_654_321))
    return path


def everything(m):
    for directory, names, files in os.walk(m.path):
        for name in names + files:
            yield os.path.join(directory, name)
    yield str(m.path)
    yield str(m.control)
    yield from (str(m.control / name) for name in ("manifest.json", "errors.json", "stats.json"))


def test_modes_owner_and_links(mount, source):
    m = mount(source)
    for path in everything(m):
        status = os.stat(path)
        assert stat.S_IMODE(status.st_mode) == (0o755 if stat.S_ISDIR(status.st_mode) else 0o644), path
        assert (status.st_uid, status.st_gid) == (os.getuid(), os.getgid()), path
        assert status.st_nlink >= 1, path


def test_size_blocks_and_times(mount, source):
    m = mount(source)
    for path in everything(m):
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            assert status.st_blocks == -(-status.st_size // 512), path
            if "/.npyfs/" not in path:
                with open(path, "rb") as file:
                    assert len(file.read()) == status.st_size, path
        if "/.npyfs" not in path:
            assert status.st_mtime_ns == 1_500_000_000_987_654_321, path


def test_times_are_those_of_each_file_in_a_directory(mount, home):
    for name, when in (("a.npy", 1_000_000_000), ("b.txt", 1_100_000_000)):
        (home / "model").mkdir(exist_ok=True)
        (home / "model" / name).write_bytes(npy(A))
        os.utime(home / "model" / name, (when, when))
    m = mount(home / "model")
    assert {os.stat(m.path / name).st_mtime for name in ("a.npy", "a.raw", "a.u8view.npy", "a.meta.json")} == {1e9}
    assert os.stat(m.path / "b.txt").st_mtime == 1.1e9


def test_inode_numbers_are_stable_and_each_files_own(mount, source):
    m = mount(source)
    first = {path: os.stat(path).st_ino for path in everything(m)}
    assert len(set(first.values())) == len(first)
    (mounting.tree(m.path))
    assert {path: os.stat(path).st_ino for path in everything(m)} == first
    with os.scandir(m.path) as entries:
        for entry in entries:
            assert entry.inode() == first[entry.path]
            assert entry.is_dir() == stat.S_ISDIR(os.stat(entry.path).st_mode)


@pytest.mark.parametrize("umask, file_mode, directory_mode", [(0o022, 0o644, 0o755), (0o077, 0o600, 0o700),
                                                             (0o002, 0o644, 0o755)])
def test_modes_are_less_the_umask_of_who_mounts(mount, source, umask, file_mode, directory_mode):
    m = mount(source, umask=umask)
    assert stat.S_IMODE(os.stat(m.path / "a.npy").st_mode) == file_mode
    assert stat.S_IMODE(os.stat(m.path / "d").st_mode) == directory_mode


def test_uid_gid_and_umask_can_be_given(mount, source):
    m = mount(source, "-o", "uid=1234,gid=4321,umask=027")
    for path in everything(m):
        status = os.stat(path)
        assert (status.st_uid, status.st_gid) == (1234, 4321)
        assert stat.S_IMODE(status.st_mode) == (0o750 if stat.S_ISDIR(status.st_mode) else 0o640)


def test_the_filesystem_as_the_kernel_shows_it(mount, source):
    m = mount(source)
    kind, options, name = mounting.mounts()[str(m.path)]
    assert kind == "fuse.npyfs" and name == str(source)
    assert "ro" in options and "rw" not in options
    assert os.statvfs(m.path).f_namemax == 255
    assert os.statvfs(m.path).f_flag & os.ST_RDONLY
    assert os.statvfs(m.path).f_bavail == 0


def test_a_name_with_a_comma_is_shown_whole(mount, source):
    odd = source.with_name("a,b\\c.npz")
    source.rename(odd)
    m = mount(odd)
    assert str(m.path) in mounting.mounts()


def test_directories_are_directories_and_know_their_parents(mount, source):
    m = mount(source)
    assert os.path.samefile(m.path / "d/..", m.path)
    assert os.stat(m.path / "d/.").st_ino == os.stat(m.path / "d").st_ino
    here = os.getcwd()
    os.chdir(m.path / "d")
    try:
        assert os.getcwd() == str(m.path / "d")
        assert (m.path / "d" / os.path.relpath("b.npy")).exists()
    finally:
        os.chdir(here)


def test_snapshots_are_made_when_opened(mount, source):
    m = mount(source)
    first = (m.control / "stats.json").read_text()
    (m.path / "a.npy").read_bytes()
    time.sleep(0.01)
    second = (m.control / "stats.json").read_text()
    assert first != second
    with open(m.control / "stats.json", encoding="utf-8") as file:
        head = file.read(10)
        mounting.tree(m.path)
        assert (head + file.read())[0] == "{"


def test_control_files_are_readable_by_cat_and_cp(mount, source, home):
    m = mount(source)
    for name in ("manifest.json", "errors.json", "stats.json"):
        assert os.system(f"cat {m.control}/{name} > {home}/cat && cp {m.control}/{name} {home}/cp") == 0
        assert (home / "cat").stat().st_size > 0
    assert (m.control / "manifest.json").stat().st_size == len((m.control / "manifest.json").read_bytes())


@pytest.mark.parametrize("options, kib", [((), 256), (("--readahead", "64"), 64), (("-o", "readahead=1024"), 1024)])
def test_the_kernel_reads_ahead_as_asked(mount, source, options, kib):
    device = os.stat(mount(source, *options).path).st_dev
    path = pathlib.Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
    assert int(path.read_text()) == kib
