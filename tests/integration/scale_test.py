"""Very many arrays, very many files, very deep keys, very large members.

With NPYFS_SCALE=1 the sizes are those that a mount must bear; without, the same tests run at a size that takes
seconds. Bytes, memory and counts are tested; times are printed, for the record.
"""

import os
import pathlib
import random
import resource
import subprocess
import tempfile
import threading
import time

import numpy as np
import pytest

import mounting
from bigzip import MARK, SEGMENT, Large, small_array, small_name, write_large, write_many
from npycraft import npy
from zipcraft import DEFLATE, archive, member

FULL = os.environ.get("NPYFS_SCALE") == "1"
MEBIBYTE = 1 << 20
CACHE = 64 * MEBIBYTE
BESIDE_THE_CACHE = 128 * MEBIBYTE
METHODS = pytest.mark.parametrize("method", [0, DEFLATE], ids=["stored", "deflated"])

pytestmark = pytest.mark.timeout(1800 if FULL else 300)


def of(full, small):
    return full if FULL else small


HUNDRED_THOUSAND, MILLION = of(100_000, 5_000), of(1_000_000, 50_000)
# Arrays -> the most memory, in MiB, while mounting and afterwards.
BOUNDS = {HUNDRED_THOUSAND: (60, 60), MILLION: of((600, 250), (60, 60))}


@pytest.fixture
def record(capsys):
    """Prints a line whether or not the test fails."""

    def write(line):
        with capsys.disabled():
            print(line, flush=True)

    return write


@pytest.fixture(scope="module")
def archives():
    """archives(count, method): the path of such an archive, made once."""
    with tempfile.TemporaryDirectory(prefix="npyfs-scale-") as place:

        def make(count, method):
            path = pathlib.Path(place) / f"{count}-{method}.npz"
            if not path.exists():
                write_many(path, count, method)
            return path

        yield make


class Timed:
    """How long its block took, in `seconds`."""

    def __enter__(self):
        self._begin = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self._begin


def samples(count, how_many=20):
    return sorted({0, 1, count // 2, count - 2, count - 1, *random.Random(count).sample(range(count), how_many)})


def pread(path, length, offset):
    """That range alone: the kernel is told not to read ahead."""
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        return os.pread(file.fileno(), length, offset)


# --- Very many arrays

@pytest.mark.plain_build
@METHODS
@pytest.mark.parametrize("count", [HUNDRED_THOUSAND, MILLION])
def test_very_many_arrays(mount, archives, record, count, method):
    path = archives(count, method)
    with Timed() as mounting_it:
        m = mount(path)
    most_then, most_after = (bound * MEBIBYTE for bound in BOUNDS[count])
    peak, after = mounting.peak_memory_of(m.pid), mounting.memory_of(m.pid)
    record(f"\n{count} arrays, {'deflated' if method else 'stored'}: mounted in {mounting_it.seconds:.2f} s, "
           f"{peak / MEBIBYTE:.0f} MiB at the peak, {after / MEBIBYTE:.0f} MiB after")
    assert peak <= most_then and after <= most_after

    for i in samples(count):
        name = m.path / small_name(i)
        assert np.array_equal(np.load(f"{name}.npy"), small_array(i))
        assert pathlib.Path(f"{name}.raw").read_bytes() == small_array(i).tobytes()
        assert np.array_equal(np.load(f"{name}.u8view.npy").view("<i8"), small_array(i))
        assert m.meta(small_name(i))["shape"] == [2]
    assert not (m.path / f"{small_name(count)}.npy").exists()
    with Timed() as listing:
        assert sum(1 for _ in os.scandir(m.path)) == 4 * count
    record(f"  its {4 * count} names listed in {listing.seconds:.2f} s")
    if count == HUNDRED_THOUSAND:
        with Timed() as listing:
            listed = subprocess.run(["ls", "-lR", m.path], check=True, capture_output=True, timeout=600).stdout
        record(f"  ls -lR in {listing.seconds:.2f} s")
        assert listed.count(b"\n") == 4 * count + 2
    assert mounting.memory_of(m.pid) <= most_after


def cost(m, i):
    """What the daemon does for opening array `i` in all its views and reading them."""
    before = m.stats()
    for suffix in (".npy", ".raw", ".u8view.npy", ".meta.json"):
        pathlib.Path(f"{m.path / small_name(i)}{suffix}").read_bytes()
    after = m.stats()
    return {key: after[key] - before[key] for key in ("source_reads", "decoded_bytes", "decoded_blocks", "restarts",
                                                      "cache_misses")}


@METHODS
def test_opening_an_array_costs_the_same_whatever_the_count(mount, archives, method):
    few, many = (mount(archives(count, method)) for count in (100, MILLION))
    for i, j in [(0, 0), (50, MILLION // 2), (99, MILLION - 1)]:
        one, other = cost(few, i), cost(many, j)
        assert one == other
        assert one["source_reads"] <= 4
        assert one["decoded_blocks"] == (1 if method else 0)


# --- Very many files

SHARDS, OPEN_FILES = of((10_000, 1024), (1_000, 128))


def test_a_directory_of_very_many_shards_needs_few_open_files(mount, home, record):
    model = home / "model"
    model.mkdir()
    for i in range(SHARDS):
        if i % 2 == 0:
            np.save(model / f"shard-{i:05d}.npy", small_array(i))
        else:
            content = archive([member(f"a{i}.npy", npy(small_array(i)))])
            (model / f"shard-{i:05d}.npz").write_bytes(content)
    limits = (OPEN_FILES, OPEN_FILES)
    with Timed() as mounting_it:
        m = mount(model, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits))
    assert resource.prlimit(m.pid, resource.RLIMIT_NOFILE) == limits
    record(f"\n{SHARDS} shards: mounted in {mounting_it.seconds:.2f} s")
    with Timed() as reading:
        for i in range(SHARDS):
            name = f"shard-{i:05d}" if i % 2 == 0 else f"shard-{i:05d}/a{i}"
            assert (m.path / f"{name}.raw").read_bytes() == small_array(i).tobytes(), name
    record(f"  an array of each read in {reading.seconds:.2f} s")
    assert len(os.listdir(f"/proc/{m.pid}/fd")) < OPEN_FILES

    # More of them open at once than the daemon may have.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    files = []
    try:
        files = [open(m.path / f"shard-{i:05d}.npy", "rb", buffering=0) for i in range(0, 4 * OPEN_FILES, 2)]
        assert m.stats()["open_handles"] >= 2 * OPEN_FILES
        for i, file in enumerate(files):
            assert os.pread(file.fileno(), 16, 128) == small_array(2 * i).tobytes()
    finally:
        for file in files:
            file.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert m.errors() == []


# --- Very deep keys

LEVELS = 1_000


def test_keys_a_thousand_levels_deep(mount, npyfs, home, record):
    directories = [f"block{level:05d}" for level in range(LEVELS)]  # in all, more than a path may have
    keys = ["/".join([*directories, f"w{i}"]) for i in range(of(1_000, 20))]
    arrays = {key: small_array(i) for i, key in enumerate(keys)}
    (home / "deep.npz").write_bytes(archive([
        *(member(f"{key}.npy", npy(array)) for key, array in arrays.items()),
        member(f"{'d/' * LEVELS}x.npy", npy(small_array(5)))]))
    assert npyfs.ok("ls", home / "deep.npz").splitlines()[0] == keys[0]
    with Timed() as mounting_it:
        m = mount(home / "deep.npz")
    record(f"\n{len(keys)} keys of {LEVELS} levels: mounted in {mounting_it.seconds:.2f} s")
    assert np.array_equal(np.load(f"{m.path}/{'d/' * LEVELS}x.npy"), small_array(5))

    here = os.open(m.path, os.O_RDONLY)
    for name in directories:
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    try:
        assert len(os.listdir(here)) == 4 * len(keys)
        for i in samples(len(keys), 10):
            file = os.open(f"w{i}.raw", os.O_RDONLY, dir_fd=here)
            assert os.read(file, 100) == small_array(i).tobytes()
            os.close(file)
    finally:
        os.close(here)
    walked = subprocess.run(["find", m.path, "-type", "f"], check=True, capture_output=True, timeout=300).stdout
    assert walked.count(b"\n") == 4 * len(arrays) + 4


# --- Very large members

def places(array, how_many=40):
    """Offsets worth a look: both ends, the marks, and any others."""
    chooser = random.Random(array.size)
    edges = [0, array.size - 100, array.size - SEGMENT - 10, array.size // 2 - 10]
    marks = [SEGMENT * segment + chooser.randrange(-50, MARK) for segment in
             chooser.sample(range(1, array.segments), min(how_many, array.segments - 1))]
    return edges + marks + [chooser.randrange(array.size - 200) for _ in range(how_many)]


@pytest.mark.plain_build
def test_a_very_large_stored_member(mount, home):
    array = Large(of(320, 8))  # 5 GiB
    write_large(home / "x.npz", [("big.npy", array, 0), ("last.npy", npy(small_array(3)), 0)])
    m = mount(home / "x.npz")
    assert (m.path / "big.raw").stat().st_size == array.size
    mapped = np.load(m.path / "big.npy", mmap_mode="r")
    assert mapped.shape == (array.size,)
    with mounting.PeakMemory(m.pid) as peak:
        for at in places(array):
            assert pread(m.path / "big.raw", 200, at) == array.at(at, min(200, array.size - at)), at
            assert mapped[at:at + 100].tobytes() == array.at(at, 100), at
    assert np.array_equal(np.load(m.path / "last.npy"), small_array(3))
    entry = m.manifest()["last"]
    with open(home / "x.npz", "rb") as source:
        assert os.pread(source.fileno(), entry["nbytes"], entry["source"]["offset"] + 128) == small_array(3).tobytes()
    assert m.stats()["decoded_bytes"] == 0
    assert peak.bytes <= 32 * MEBIBYTE


@pytest.fixture(scope="module")
def deflated():
    """A very large array (20 GiB), and an archive that has it deflated."""
    array = Large(of(1280, 12))
    with tempfile.TemporaryDirectory(prefix="npyfs-scale-") as place:
        path = pathlib.Path(place) / "x.npz"
        write_large(path, [("big.npy", array, DEFLATE), ("last.npy", npy(small_array(3)), DEFLATE)])
        yield array, path


def test_the_end_of_a_very_large_deflated_member_is_one_decode_away(mount, deflated):
    array, path = deflated
    m = mount(path)
    assert np.array_equal(np.load(m.path / "last.npy"), small_array(3))
    before = m.stats()["decoded_bytes"]
    assert pread(m.path / "big.raw", 100, array.size - 100) == array.at(array.size - 100, 100)
    assert m.stats()["decoded_bytes"] - before <= array.size + MEBIBYTE


def spacing_of(array):
    """How far restart points may lie apart."""
    return max(MEBIBYTE, array.size // 512) + MEBIBYTE // 4


@pytest.mark.plain_build
def test_a_very_large_deflated_member_read_once_and_then_anywhere(mount, record, deflated):
    array, path = deflated
    m = mount(path, "--cache-size", str(CACHE))
    with mounting.PeakMemory(m.pid) as peak, Timed() as passing:
        with open(m.path / "big.raw", "rb", buffering=0) as file:
            for at in range(0, array.size, MEBIBYTE):
                piece = file.read(MEBIBYTE)
                assert len(piece) == MEBIBYTE and piece[:MARK] == array.at(at, MARK), at
            assert file.read(1) == b""
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    record(f"\n{array.size >> 20} MiB decoded in {passing.seconds:.1f} s, "
           f"{peak.bytes / MEBIBYTE:.0f} MiB of memory at most, {m.stats()['restart_points']} restart points")
    assert m.stats()["decoded_bytes"] <= 1.1 * array.size
    assert peak.bytes <= CACHE + BESIDE_THE_CACHE

    for at in places(array, 10):
        before = m.stats()["decoded_bytes"]
        assert pread(m.path / "big.raw", 4096, at) == array.at(at, min(4096, array.size - at)), at
        assert m.stats()["decoded_bytes"] - before <= spacing_of(array)
    assert m.errors() == []  # its CRC is right too


@pytest.mark.plain_build
def test_memory_stays_in_bounds_under_a_storm_of_random_reads(mount, record, deflated):
    array, path = deflated
    m = mount(path, "--cache-size", str(CACHE))
    assert pread(m.path / "big.raw", 1, array.size - 1) == b"\0"
    wrong = []

    def read_anywhere(seed):
        chooser = random.Random(seed)
        for _ in range(of(250, 40)):
            length = chooser.choice([1, 4096, 4096, 100_000])
            at = chooser.choice([chooser.randrange(array.size - length),
                                 chooser.randrange(array.segments - 1) * SEGMENT])
            if pread(m.path / "big.raw", length, at) != array.at(at, length):
                wrong.append(at)

    threads = [threading.Thread(target=read_anywhere, args=(seed,)) for seed in range(8)]
    with mounting.PeakMemory(m.pid) as peak, Timed() as storm:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    record(f"\na storm over {array.size >> 20} MiB: {8 * of(250, 40)} reads in {storm.seconds:.1f} s, "
           f"{peak.bytes / MEBIBYTE:.0f} MiB of memory at most")
    assert not wrong, wrong[:5]
    assert peak.bytes <= CACHE + BESIDE_THE_CACHE
