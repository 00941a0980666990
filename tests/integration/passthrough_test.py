"""Files that are served just as they lie on disk, read by the kernel itself where that can be.

It takes libfuse 3.17, Linux 6.9 and CAP_SYS_ADMIN. Where one of them is missing the same tests want the daemon to
have served every byte.
"""

import json
import mmap
import os
import pathlib
import re

import numpy as np
import pytest

import mounting
from npycraft import npy
from zipcraft import archive, member

CAP_SYS_ADMIN = 21
MEBIBYTE = 1 << 20
GRID = np.arange(3 * MEBIBYTE // 8, dtype="<i8").reshape(-1, 64)


def numbers(text):
    return tuple(int(number) for number in re.search(r"(\d+)\.(\d+)", text).groups())


@pytest.fixture
def expected(npyfs):
    """Whether the kernel is expected to read such files itself."""
    libfuse = next(line for line in npyfs.ok("--version").splitlines() if line.startswith("libfuse"))
    allowed = int(re.search(r"CapEff:\s+(\w+)", pathlib.Path("/proc/self/status").read_text())[1], 16)
    return numbers(libfuse) >= (3, 17) and numbers(os.uname().release) >= (6, 9) and bool(allowed >> CAP_SYS_ADMIN & 1)


@pytest.fixture
def source(home):
    """A directory with a file of each kind."""
    model = home / "model"
    model.mkdir()
    np.save(model / "loose.npy", GRID)
    (model / "bare.raw").write_bytes(GRID.tobytes())
    (model / "bare_meta.json").write_text(json.dumps({"dtype": "int64", "shape": list(GRID.shape)}))
    (model / "config.json").write_bytes(b"{}" * MEBIBYTE)
    (model / "weights.npz").write_bytes(archive([member("w.npy", npy(GRID))]))
    return model


def served(m, action):
    """What `action` returns, how many files were opened for the kernel to read itself, and how many bytes we sent."""
    before = m.stats()
    result = action()
    after = m.stats()
    return (result, after["passthrough_opens"] - before["passthrough_opens"],
            after["bytes"] - before["bytes"] - len(json.dumps(before)))


UNSHIFTED = {
    "loose.npy": npy(GRID), "bare.raw": GRID.tobytes(), "config.json": b"{}" * MEBIBYTE,
    "weights.npz": archive([member("w.npy", npy(GRID))]),
}


@pytest.mark.parametrize("name", UNSHIFTED)
def test_an_unshifted_file_is_read_by_the_kernel_where_that_can_be(mount, source, expected, name):
    m = mount(source)
    content, passed, sent = served(m, (m.path / name).read_bytes)
    assert content == UNSHIFTED[name]
    assert passed == (1 if expected else 0)
    assert sent < MEBIBYTE if expected else sent >= len(content)


@pytest.mark.parametrize("name", ["loose.raw", "loose.u8view.npy", "bare.npy", "weights/w.npy", "loose.meta.json"])
def test_what_is_made_of_a_file_is_served_by_the_daemon(mount, source, name):
    m = mount(source)
    content, passed, sent = served(m, (m.path / name).read_bytes)
    assert passed == 0
    assert sent >= len(content)
    if name.endswith(".npy") and "u8view" not in name:
        assert np.array_equal(np.load(m.path / name), GRID)


def test_a_single_file_as_source(mount, source, expected):
    m = mount(source / "loose.npy")
    content, passed, _ = served(m, (m.path / "loose.npy").read_bytes)
    assert content == npy(GRID)
    assert passed == (1 if expected else 0)


def test_ways_of_reading_mix(mount, source, expected):
    m = mount(source)
    path, want = m.path / "loose.npy", npy(GRID)
    mapped = np.load(path, mmap_mode="r")  # stays open
    assert np.array_equal(mapped, GRID)
    direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffered = os.open(path, os.O_RDONLY)
    page = mmap.mmap(-1, 4096)
    assert os.preadv(direct, [page], 8192) == 4096 and page[:] == want[8192:12288]
    assert os.pread(buffered, 5000, 77) == want[77:5077]
    assert np.array_equal(np.load(m.path / "loose.u8view.npy").view("<i8"), GRID)
    assert (m.path / "loose.raw").read_bytes() == GRID.tobytes()
    for descriptor in (direct, buffered):
        os.close(descriptor)
    assert np.array_equal(mapped[-1], GRID[-1])
    del mapped
    mounting.eventually(lambda: m.stats()["open_handles"] == 0, "all files are closed")
    # And again, now that nobody had it open.
    for _ in range(3):
        content, passed, _ = served(m, path.read_bytes)
        assert content == want
        assert passed == (1 if expected else 0)


def test_many_files_at_once(mount, home, expected):
    model = home / "model"
    model.mkdir()
    for i in range(700):
        np.save(model / f"a{i}.npy", np.arange(i, i + 9))
    m = mount(model)

    def read_all():
        files = [open(m.path / f"a{i}.npy", "rb") for i in range(700)]
        for i, file in enumerate(files):
            assert np.array_equal(np.load(file), np.arange(i, i + 9))
            file.close()

    _, passed, _ = served(m, read_all)
    assert passed == (700 if expected else 0)


def test_where_the_kernel_refuses_the_daemon_serves(mount, source):
    inner = mount(source)
    m = mount(inner.path)  # files of a FUSE filesystem can't be passed through
    for name in ("loose.npy", "config.json"):
        content, passed, sent = served(m, (m.path / name).read_bytes)
        assert content == UNSHIFTED[name]
        assert passed == 0
        assert sent >= len(content)


@pytest.mark.parametrize("how", ["appended", "rewritten"])
def test_a_file_that_changed_while_it_was_open_does_not_close_well(mount, source, how):
    m = mount(source, announced=["loose.npy"])
    reader = os.open(m.path / "loose.npy", os.O_RDONLY)
    assert os.pread(reader, 100, 0) == npy(GRID)[:100]
    with open(source / "loose.npy", "ab" if how == "appended" else "r+b") as file:
        file.write(b"other bytes")
    os.utime(source / "loose.npy", (1, 1))
    assert mounting.errno_name(os.close, reader) == "ESTALE"
    assert mounting.errno_name((m.path / "loose.npy").read_bytes) == "ESTALE"
    assert (m.path / "config.json").read_bytes() == UNSHIFTED["config.json"]
