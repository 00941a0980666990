"""`--index-dir`: restart points that outlive a mount, and files of them that can't be trusted."""

import os
import pickle
import shutil
import subprocess
import zipfile

import numpy as np
import pytest

import mounting
import zipcraft
from npycraft import npy

MEBIBYTE = 1 << 20
SPACING = MEBIBYTE  # of restart points, in members up to 512 MiB
BLOCK = 256 << 10
ONE_SPACING = SPACING + BLOCK  # the way from a point, and the block that is wanted


@pytest.fixture(scope="module")
def weights():
    """24 MiB that deflate to half."""
    bits = np.random.default_rng(1).normal(0, 0.02, 1 << 16).astype("<f4").view("<u4") & 0xFFFF0000
    return np.random.default_rng(2).choice(bits, 6 << 20).view("<f4")


def save(path, array):
    """What np.savez_compressed writes, in a tenth of the time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("w.npy", "w", force_zip64=True) as file:
            np.lib.format.write_array(file, array)


@pytest.fixture(scope="module")
def archive(weights, tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "weights.npz"
    save(path, weights)
    return path


@pytest.fixture
def source(archive, home):
    shutil.copy2(archive, home / "weights.npz")
    return home / "weights.npz"


@pytest.fixture
def index(home):
    return home / "index"


def tail(m, weights):
    """Reads the last 4 KiB, which must be right. How much was decoded for it."""
    before = m.stats()["decoded_bytes"]
    path = m.path / "w.raw"
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.seek(-4096, os.SEEK_END)
        assert file.read(4096) == weights[-1024:].tobytes()
    return m.stats()["decoded_bytes"] - before


def learn(mount, source, index, weights, **options):
    """A pass in a mount of its own."""
    m = mount(source, "--index-dir", index, **options)
    assert (m.path / "w.raw").read_bytes() == weights.tobytes()
    m.unmount()
    return m


def files(index):
    return sorted(index.iterdir())


def test_after_a_remount_a_read_at_the_end_decodes_one_spacing_at_most(mount, source, index, weights):
    learn(mount, source, index, weights)
    m = mount(source, "--index-dir", index)
    assert m.stats()["index_points_loaded"] == 0, "mounting reads none"
    assert tail(m, weights) <= ONE_SPACING
    assert m.stats()["index_points_loaded"] == 1


def test_without_it_the_whole_way_is_decoded_and_nothing_kept(mount, source, home, weights):
    assert tail(mount(source), weights) >= weights.nbytes
    assert not (home / "index").exists()


def test_as_a_mount_option(mount, source, index, weights):
    learn(mount, source, index, weights)
    m = mount(source, f"index-dir={index}", verb=())
    assert tail(m, weights) <= ONE_SPACING


def test_a_relative_path_is_where_the_user_is(mount, source, home, weights):
    m = mount(source, "--index-dir", "here", cwd=home)
    (m.path / "w.raw").read_bytes()
    m.unmount()
    assert len(files(home / "here")) == 1


def test_a_pass_is_kept_at_once_and_survives_a_killed_daemon(mount, npyfs, source, index, weights):
    with open(index.parent / "log", "wb") as log:
        point = index.parent / "killed"
        point.mkdir()
        with subprocess.Popen([npyfs.binary, "mount", "-f", "--index-dir", index, source, point], stdout=log,
                              stderr=log) as daemon:
            mounting.eventually(lambda: (point / "w.raw").exists(), "mounted")
            (point / "w.raw").read_bytes()
            mounting.eventually(lambda: index.exists() and files(index)
                                and all(path.suffix == ".points" for path in files(index)), "kept")
            daemon.kill()
        subprocess.run(["umount", "-l", point], check=True)
    assert tail(mount(source, "--index-dir", index), weights) <= ONE_SPACING


def test_one_thread_keeps_them_too(mount, source, index, weights):
    m = mount(source, "-s", "--index-dir", index)
    (m.path / "w.raw").read_bytes()
    m.unmount()
    assert tail(mount(source, "--index-dir", index), weights) <= ONE_SPACING


def test_auto_is_the_cache_directory(mount, npyfs, source, home, weights):
    npyfs.environment |= {"XDG_CACHE_HOME": f"{home}/cache", "HOME": str(home)}
    learn(mount, source, "auto", weights)
    assert len(files(home / "cache/npyfs")) == 1
    assert (home / "cache/npyfs").stat().st_mode & 0o777 == 0o700
    npyfs.environment |= {"XDG_CACHE_HOME": "relative"}
    learn(mount, source, "auto", weights)
    assert len(files(home / ".cache/npyfs")) == 1
    assert files(home / ".cache/npyfs")[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["empty", "cut", "front", "state", "noise"])
def test_a_damaged_file_changes_nothing_but_speed(mount, source, index, weights, damage):
    learn(mount, source, index, weights)
    (path,) = files(index)
    good = path.read_bytes()
    bad = bytearray(good)
    if damage == "empty":
        bad = b""
    elif damage == "cut":
        bad = good[: len(good) // 2]
    elif damage == "front":
        bad[150] ^= 1
    elif damage == "state":
        bad[-80000] ^= 1  # of the last but one, which a read at the end starts from
    else:
        bad = np.random.default_rng(3).bytes(len(good))
    path.write_bytes(bad)
    m = mount(source, "--index-dir", index, announced=[path.name])
    assert tail(m, weights) >= weights.nbytes
    assert (m.path / "w.raw").read_bytes() == weights.tobytes()
    m.unmount()
    lines = [line for line in m.log_file.read_text().splitlines() if path.name in line]
    assert len(lines) == 1 and str(index) in lines[0]
    assert tail(mount(source, "--index-dir", index), weights) <= ONE_SPACING, "mended by the pass"


def test_another_source_finds_nothing(mount, source, index, weights, home):
    learn(mount, source, index, weights)
    status = source.stat()
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    m = mount(source, "--index-dir", index)
    assert tail(m, weights) >= weights.nbytes
    m.unmount()

    other = -weights
    save(home / "other.npz", other)
    os.utime(home / "other.npz", ns=(status.st_atime_ns, status.st_mtime_ns))
    learn(mount, home / "other.npz", index, other)
    newest = max(files(index), key=lambda path: path.stat().st_mtime_ns)
    for path in files(index):
        if path != newest:
            path.write_bytes(newest.read_bytes())
    m = mount(source, "--index-dir", index)
    assert (m.path / "w.raw").read_bytes() == weights.tobytes()


def test_a_file_of_others_is_passed_over_with_one_line(mount, source, index, weights):
    learn(mount, source, index, weights)
    (path,) = files(index)
    os.chown(path, 65534, 65534)
    m = mount(source, "--index-dir", index, announced=["only you can write"])
    assert tail(m, weights) >= weights.nbytes
    m.unmount()
    assert m.log_file.read_text().count("only you can write") == 1


def test_a_source_that_changed_under_the_mount_is_not_served_from_it(mount, source, index, weights):
    learn(mount, source, index, weights)
    m = mount(source, "--index-dir", index, announced=["written to"])
    status = source.stat()
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))
    assert mounting.errno_name((m.path / "w.raw").read_bytes) == "ESTALE"


def test_a_full_disk_is_one_line_and_no_harm(mount, source, index, weights):
    index.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", index], check=True)
    try:
        m = learn(mount, source, index, weights, announced=["No space left on device"])
        assert files(index) == []
        assert m.log_file.read_text().count("No space left on device") == 1
    finally:
        subprocess.run(["umount", index], check=True)


def test_a_directory_that_is_read_only_is_read(mount, npyfs, source, index, weights):
    learn(mount, source, index, weights)
    kept = index.parent / "kept"
    index.rename(kept)
    index.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", index], check=True)
    try:
        (path,) = files(kept)
        shutil.copy2(path, index)
        subprocess.run(["mount", "-o", "remount,ro", index], check=True)
        m = mount(source, "--index-dir", index, announced=["Read-only file system"])
        assert m.stderr == f"npyfs: {index}: Read-only file system; the mount goes on without keeping an index\n"
        assert tail(m, weights) <= ONE_SPACING
        m.unmount()
    finally:
        subprocess.run(["umount", index], check=True)


@pytest.mark.parametrize("path", ["file", "file/below", "/proc/none/such"])
def test_a_directory_that_can_not_be_made_is_one_warning(mount, source, home, weights, path):
    (home / "file").write_text("in the way")
    m = mount(source, "--index-dir", home / path, announced=["goes on without"])
    assert m.stderr.count("\n") == 1 and m.stderr.startswith(f"npyfs: {home / path}: ")
    assert (m.path / "w.raw").read_bytes() == weights.tobytes()


def test_no_value_is_wrong_usage(npyfs, source, home):
    assert "index-dir" in npyfs.refused("mount", "-o", "index-dir=", source, home / "m", status=2)


def test_two_mounts_share_a_directory(mount, source, index, weights):
    first, second = (mount(source, "--index-dir", index) for _ in range(2))
    half = weights.nbytes // 2
    with open(first.path / "w.raw", "rb") as one, open(second.path / "w.raw", "rb") as two:
        assert one.read(half) == weights.tobytes()[:half]
        two.seek(half)
        assert two.read() == weights.tobytes()[half:]
    first.unmount()
    second.unmount()
    assert len(files(index)) == 1
    m = mount(source, "--index-dir", index)
    assert tail(m, weights) <= ONE_SPACING
    assert (m.path / "w.raw").read_bytes() == weights.tobytes()
    m.unmount()
    assert files(index)[0].stat().st_size > 23 * 50000, "the points of both"


def test_a_copy_elsewhere_profits_too(mount, source, index, weights, home):
    learn(mount, source, index, weights)
    (home / "deep").mkdir()
    shutil.copy2(source, home / "deep/moved.npz")
    assert tail(mount(home / "deep/moved.npz", "--index-dir", index), weights) <= ONE_SPACING


def test_archives_in_a_directory_are_kept_each(mount, source, index, weights, home):
    directory = home / "many"
    directory.mkdir()
    for name in ("a.npz", "b.npz"):
        shutil.copy2(source, directory / name)
        os.utime(directory / name, ns=(0, 1_600_000_000_000_000_000 + len(files(directory))))
    for kept in (False, True):
        m = mount(directory, "--index-dir", index)
        for name in "ab":
            before = m.stats()["decoded_bytes"]
            with open(m.path / name / "w.raw", "rb", buffering=0) as file:
                if kept:
                    file.seek(-4096, os.SEEK_END)
                assert file.read() == (weights[-1024:] if kept else weights).tobytes()
            assert (m.stats()["decoded_bytes"] - before <= ONE_SPACING) == kept
        m.unmount()
    assert len(files(index)) == 2


def read_some(path, offset, count):
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        return file.read(count)


@pytest.mark.parametrize("view", ["npy", "raw", "u8view.npy"])
def test_a_whole_read_of_a_damaged_member_fails_though_its_end_was_read_before(mount, home, index, weights, view):
    source = home / "weights.npz"
    save(source, weights)
    content = bytearray(source.read_bytes())
    at = content.rindex(b"PK\x01\x02") + 16  # its CRC in the central directory
    content[at] ^= 1
    source.write_bytes(content)

    m = mount(source, "--index-dir", index)
    size = (m.path / f"w.{view}").stat().st_size
    read_some(m.path / f"w.{view}", 0, size * 3 // 4)  # what it teaches outlives it, what it checked doesn't
    m.unmount()
    assert files(index), "there was nothing wrong so far"

    m = mount(source, "--index-dir", index, announced=["CRC-32 is", "can't be right"])
    path = m.path / f"w.{view}"
    end = read_some(path, size - 2 * BLOCK, 2 * BLOCK)
    assert end == weights.tobytes()[-2 * BLOCK:], "nobody can know yet"
    early = os.open(path, os.O_RDONLY)
    with pytest.raises(OSError, match="Input/output error"):
        path.read_bytes()
    mounting.eventually(lambda: fails(path, size - 1), "what the kernel kept of its end has gone")
    with pytest.raises(OSError, match="Input/output error"):
        os.close(early)  # who may have read it from there is told
    assert read_some(path, 0, MEBIBYTE)
    assert len(m.errors()) == 1


@pytest.mark.parametrize("name", ["p.pkl", "p.npy"])
def test_closing_an_array_of_a_pickle_in_a_damaged_member_fails(mount, home, index, name):
    random_bytes = np.random.default_rng(5)
    value = {key: random_bytes.integers(0, 9, MEBIBYTE, np.uint8) for key in ("a", "b")}
    objects = np.empty((), object)
    objects[()] = value
    content = npy(objects) if name == "p.npy" else pickle.dumps(value, 4)
    content += random_bytes.bytes(16 * MEBIBYTE)  # who looks for arrays doesn't come that far
    (home / "x.npz").write_bytes(zipcraft.archive(
        [zipcraft.member(name, content, method=zipcraft.DEFLATE, crc=0x12345678)]))
    m = mount(home / "x.npz", "--index-dir", index)
    read_some(m.path / name, 0, len(content) * 3 // 4)
    m.unmount()

    m = mount(home / "x.npz", "--index-dir", index, announced=["CRC-32 is", "can't be right"])
    array, other = os.open(m.path / "p/b.npy", os.O_RDONLY), os.open(m.control / "manifest.json", os.O_RDONLY)
    assert os.pread(array, MEBIBYTE, 128) == value["b"].tobytes(), "nobody can know yet"
    assert read_some(m.path / name, len(content) - 2 * BLOCK, 2 * BLOCK) == content[-2 * BLOCK:]
    with pytest.raises(OSError, match="Input/output error"):
        (m.path / name).read_bytes()
    with pytest.raises(OSError, match="Input/output error"):
        os.close(array)
    os.close(other)
    assert [error["where"] for error in m.errors()] == [f"x.npz: {name}"]


def test_who_read_the_front_of_a_damaged_member_closes_it_as_ever(mount, home, weights):
    source = home / "weights.npz"
    save(source, weights)
    content = bytearray(source.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 16] ^= 1
    source.write_bytes(content)
    m = mount(source, announced=["CRC-32 is"])
    path = m.path / "w.npy"
    early = os.open(path, os.O_RDONLY)
    assert os.pread(early, 4096, 128) == weights.tobytes()[:4096]
    with pytest.raises(OSError, match="Input/output error"):
        path.read_bytes()
    os.close(early)
    assert len(m.errors()) == 1


def fails(path, offset):
    try:
        read_some(path, offset, 1)
    except OSError:
        return True
    return False
