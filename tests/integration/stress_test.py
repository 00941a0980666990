"""Many clients at once: nobody waits for somebody else's long work, and every byte is right."""

import mmap
import os
import random
import signal
import subprocess
import sys
import threading
import time
import zlib

import numpy as np
import pytest

import mounting
from bigzip import SEGMENT, Large, write_large
from npycraft import header_text, image, npy
from zipcraft import DEFLATE, archive, member, raw_deflate

MEBIBYTE = 1 << 20

# Faults random pages of one mapping from 32 threads. In a process of its own: one that faults a page
# which never comes can't be stopped by a Python signal handler.
FAULTER = """
import mmap, os, random, sys, threading
path, original = sys.argv[1], sys.argv[2]
want = open(original, "rb").read()
file = open(path, "rb")
mapping = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
wrong = []
def fault(seed):
    chooser = random.Random(seed)
    for _ in range(100):
        at = chooser.randrange(len(want) // 4096) * 4096 + chooser.randrange(4000)
        if mapping[at:at + 64] != want[at:at + 64]:
            wrong.append(at)
threads = [threading.Thread(target=fault, args=(i,)) for i in range(32)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit(1 if wrong else 0)
"""


@pytest.mark.parametrize("method", [0, DEFLATE], ids=["stored", "deflated"])
def test_threads_fault_pages_while_others_stat_and_list(mount, home, method):
    array = np.random.default_rng(5).integers(0, 16, 64 * MEBIBYTE, np.uint8)
    (home / "x.npz").write_bytes(archive([member("big.npy", npy(array), method=method), *(
        member(f"d/{i}.npy", npy(np.arange(3))) for i in range(300))]))
    (home / "original").write_bytes(array.tobytes())
    m = mount(home / "x.npz")
    done = threading.Event()
    rounds = []

    def look():
        while not done.is_set():
            for name in os.listdir(m.path / "d"):
                os.stat(m.path / "d" / name)
            rounds.append(1)
            time.sleep(0.01)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for thread in lookers:
        thread.start()
    try:
        client = subprocess.run([sys.executable, "-c", FAULTER, m.path / "big.raw", home / "original"], check=False,
                                timeout=250)
    finally:
        done.set()
        for thread in lookers:
            thread.join()
    assert client.returncode == 0
    assert rounds


def test_a_big_directory_is_the_same_for_all_who_list_it_at_once(mount, home):
    count = 3000
    (home / "x.npz").write_bytes(archive([member(f"{i}.npy", npy(np.arange(i % 7))) for i in range(count)]))
    m = mount(home / "x.npz")
    want = {f"{i}.{view}" for i in range(count) for view in ("npy", "raw", "u8view.npy", "meta.json")}
    listed = []

    def look():
        with os.scandir(m.path) as some:  # and goes away early
            assert next(some).name in want
        with os.scandir(m.path) as entries:
            listed.append([(entry.name, entry.inode(), entry.stat().st_size) for entry in entries])

    lookers = [threading.Thread(target=look) for _ in range(4)]
    for thread in lookers:
        thread.start()
    for thread in lookers:
        thread.join()
    assert len(listed) == 4
    for one in listed:
        assert one == listed[0]
        assert len(one) == len(want) and {name for name, _, _ in one} == want
    sizes = {name: size for name, _, size in listed[0]}
    for name in random.Random(1).sample(sorted(want), 200):
        assert len((m.path / name).read_bytes()) == sizes[name]


def read_randomly(path, want, seed, reads):
    chooser = random.Random(seed)
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for _ in range(reads):
            at, length = chooser.randrange(len(want)), chooser.choice([1, 100, 4096, 70_000])
            assert os.pread(file.fileno(), length, at) == want[at:at + length], (path, at)


def read_forward(path, want):
    with open(path, "rb", buffering=0) as file:
        at = 0
        while block := file.read(99_991):
            assert block == want[at:at + len(block)], (path, at)
            at += len(block)
        assert at == len(want)


def test_forward_and_random_readers_over_several_members(mount, home):
    arrays = {f"a{i}": np.random.default_rng(i).integers(0, 9, (700, 4000 + i), np.uint8) for i in range(8)}
    np.savez_compressed(home / "x.npz", **{name: np.asfortranarray(array) if name == "a3" else array
                                           for name, array in arrays.items()})
    m = mount(home / "x.npz", "--cache-size", "8M")
    failures = []

    def run(function, *arguments):
        try:
            function(*arguments)
        except BaseException as error:  # reported by the main thread
            failures.append(error)

    threads = []
    for i, (name, array) in enumerate(arrays.items()):
        path, want = m.path / f"{name}.raw", array.tobytes()
        threads.append(threading.Thread(target=run, args=(read_forward, path, want)))
        threads.append(threading.Thread(target=run, args=(read_randomly, path, want, i, 150)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def long_member(home, mebibytes, count=1):
    """An archive with `count` members of many copies of one MiB, which take long to decode. Returns the MiB."""
    noise = np.random.default_rng(2).integers(0, 4, MEBIBYTE, np.uint8).tobytes()
    content = image(header_text("|u1", (mebibytes * MEBIBYTE,))) + noise * mebibytes
    coder = zlib.compressobj(6, zlib.DEFLATED, -15)
    block = coder.compress(noise) + coder.flush(zlib.Z_FULL_FLUSH)  # refers to nothing before it
    stored = raw_deflate(content[:-len(noise) * mebibytes], last=False) + block * mebibytes + raw_deflate(b"")
    members = [member(f"m{i}.npy", content, method=DEFLATE, stored=stored) for i in range(count)]
    (home / "x.npz").write_bytes(archive([*members, member("small.npy", npy(np.arange(3)))]))
    return noise


def test_with_sixteen_long_decodes_under_way_everything_else_is_answered(mount, home):
    # Four members of 32 GiB, nearly all zeros: to decode one takes ten seconds and more.
    members = [(f"m{i}.npy", Large(2048, noise=64), DEFLATE) for i in range(4)]
    write_large(home / "x.npz", [*members, ("small.npy", npy(np.arange(3)), 0),
                                 ("other.npy", npy(np.arange(4)), DEFLATE),
                                 ("longer.npy", npy(np.arange(300_000)), DEFLATE)])
    m = mount(home / "x.npz")
    readers = [subprocess.Popen(["dd", f"if={m.path}/m{i % 4}.raw", "bs=4096", "count=1",
                                 f"skip={(2000 * SEGMENT + i * 4 * MEBIBYTE) // 4096}", "of=/dev/null"],
                                stderr=subprocess.DEVNULL) for i in range(16)]
    try:
        mounting.eventually(lambda: m.stats()["waiting_reads"] >= 16, "16 long reads are under way")
        before = m.stats()
        assert (m.path / "small.npy").stat().st_size == 128 + 24
        assert len(os.listdir(m.path)) == 7 * 4
        assert not (m.path / "absent").exists()
        assert np.array_equal(np.load(m.path / "small.npy"), np.arange(3))
        assert np.array_equal(np.load(m.path / "other.npy"), np.arange(4))
        after = m.stats()
        assert all(reader.poll() is None for reader in readers), "a small request waited for the long ones"
        for key in ("waiting_reads", "queued_reads"):
            assert after[key] == before["waiting_reads"], "one of the long ones was answered meanwhile"
        # Of more than one block, so it is queued too.
        assert np.array_equal(np.load(m.path / "longer.npy"), np.arange(300_000))
        assert m.stats()["queued_reads"] > after["queued_reads"]
        assert all(reader.poll() is None for reader in readers), "another member waited for the long ones"
    finally:
        for reader in readers:
            reader.kill()
            reader.wait(60)
    mounting.eventually(lambda: m.stats()["waiting_reads"] == 0, "the work for nobody has been given up")


def test_who_waits_for_what_a_killed_reader_had_asked_for_gets_it(mount, home):
    array = Large(200)
    write_large(home / "x.npz", [("big.npy", array, DEFLATE)])
    m = mount(home / "x.npz", "--cache-size", "16M")
    place = 199 * SEGMENT
    command = ["dd", f"if={m.path}/big.raw", "bs=4096", "count=1", f"skip={place // 4096}"]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    mounting.eventually(lambda: m.stats()["waiting_reads"] > 0, "the long read is under way")
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(3)]
    first.kill()
    first.communicate()
    for other in others:
        assert other.communicate(timeout=250)[0] == array.at(place, 4096)
        assert other.returncode == 0


def test_a_direct_read_can_be_killed(mount, home):
    write_large(home / "x.npz", [("big.npy", Large(8192, noise=64), DEFLATE)])  # 128 GiB
    m = mount(home / "x.npz")
    reader = subprocess.Popen(["dd", f"if={m.path}/big.raw", "iflag=direct", "bs=1M", "count=1",
                               f"skip={8000 * SEGMENT >> 20}", "of=/dev/null"], stderr=subprocess.DEVNULL)
    mounting.eventually(lambda: m.stats()["waiting_reads"] > 0, "the long read is under way")
    reader.kill()
    reader.wait(60)
    mounting.eventually(lambda: m.stats()["waiting_reads"] == 0, "the decoding for it has ended")


def test_an_unmount_ends_what_is_decoded_for_nobody(mount, home):
    write_large(home / "x.npz", [("big.npy", Large(8192, noise=64), DEFLATE)])  # 128 GiB
    m = mount(home / "x.npz")
    reader = subprocess.Popen(["dd", f"if={m.path}/big.raw", "bs=4096", "count=1",
                               f"skip={8000 * SEGMENT // 4096}", "of=/dev/null"], stderr=subprocess.DEVNULL)
    mounting.eventually(lambda: m.stats()["waiting_reads"] > 0, "the long read is under way")
    reader.kill()
    os.waitid(os.P_PID, reader.pid, os.WEXITED | os.WNOWAIT)  # ended, but its number is still taken
    before = m.cpu_seconds
    m.unmount()
    assert m.cpu_seconds - before < 5, "to decode all takes half a minute"
    reader.wait()


def test_sigterm_is_answered_in_the_middle_of_reads(mount, home):
    write_large(home / "x.npz", [(f"m{i}.npy", Large(4096, noise=64), DEFLATE) for i in range(2)])  # 64 GiB each
    m = mount(home / "x.npz", "--cache-size", "16M")
    clients = [subprocess.Popen(["dd", f"if={m.path}/m{i % 2}.raw", "bs=1M", "count=1", f"skip={(60 << 10) + i}",
                                 "of=/dev/null"], stderr=subprocess.DEVNULL) for i in range(4)]
    mounting.eventually(lambda: m.stats()["waiting_reads"] >= 4, "the long reads are under way")
    before = m.cpu_seconds
    os.kill(m.pid, signal.SIGTERM)
    m.wait()
    assert m.cpu_seconds - before < 5, "to decode all takes half a minute"
    assert not os.path.ismount(m.path)
    for client in clients:
        assert client.wait(60) != 0


def decoded_bytes(m):
    (name,) = [name for name in m.stats() if "decoded" in name and "byte" in name]
    return m.stats()[name]


def test_a_random_read_after_one_pass_decodes_little(mount, home):
    long_member(home, 64)
    m = mount(home / "x.npz", "--cache-size", "1M")
    with open(m.path / "m0.raw", "rb", buffering=0) as file:
        while file.read(MEBIBYTE):
            pass
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        before = decoded_bytes(m)
        os.pread(file.fileno(), 4096, 40 * MEBIBYTE)
        assert decoded_bytes(m) - before <= 2 * MEBIBYTE


def test_a_second_pass_over_what_fits_decodes_nothing(mount, home):
    long_member(home, 16)
    m = mount(home / "x.npz", "--cache-size", "64M")
    for fresh in (True, False):
        before = decoded_bytes(m)
        with open(m.path / "m0.raw", "rb", buffering=0) as file:
            while file.read(MEBIBYTE):
                pass
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert (decoded_bytes(m) > before) == fresh


def test_two_interleaved_readers_decode_each_byte_once_or_twice(mount, home):
    """O_DIRECT: what the kernel reads ahead, and drops again, is no part of the count."""
    long_member(home, 48)
    m = mount(home / "x.npz", "--cache-size", "8M")
    with mmap.mmap(-1, MEBIBYTE // 2) as piece:
        first, second = (os.open(m.path / "m0.raw", os.O_RDONLY | os.O_DIRECT) for _ in range(2))
        at = 0
        while got := os.preadv(first, [piece], at):
            os.preadv(second, [piece], at + 20 * MEBIBYTE)
            at += got
        os.close(first)
        os.close(second)
    assert at == 48 * MEBIBYTE
    assert decoded_bytes(m) <= 2.1 * 48 * MEBIBYTE


def test_stat_lookup_and_listing_read_nothing_from_the_source(mount, home):
    (home / "x.npz").write_bytes(archive([member(f"{i}.npy", npy(np.arange(3)), method=i % 2 * DEFLATE)
                                          for i in range(500)]))
    m = mount(home / "x.npz")
    (name,) = [name for name in m.stats() if "source" in name and "read" in name]
    before = m.stats()[name]
    for entry in os.listdir(m.path):
        os.stat(m.path / entry)
    assert m.stats()[name] == before


@pytest.mark.plain_build
def test_memory_stays_in_bounds_while_everything_of_a_big_mount_is_read(mount, home):
    random_floats = np.random.default_rng(1).standard_normal((3000, 3000)).astype("<f4")
    np.savez_compressed(home / "d.npz", c=random_floats, f=np.asfortranarray(random_floats))
    np.savez(home / "s.npz", c=random_floats, f=np.asfortranarray(random_floats),
             **{f"k{i}": np.arange(3) for i in range(1000)})
    (home / "model").mkdir()
    for name in ("d.npz", "s.npz"):
        os.rename(home / name, home / "model" / name)
    m = mount(home / "model", "--cache-size", "32M")
    with mounting.PeakMemory(m.pid) as peak:
        want = random_floats.tobytes()
        for name in ("d/c", "d/f", "s/c", "s/f"):
            with open(m.path / f"{name}.raw", "rb") as file:
                assert file.read() == want
        everything = f"find {m.path} -type f -print0 | xargs -0 -P 4 -n 200 cat > /dev/null"
        subprocess.run(["bash", "-c", everything], check=True, timeout=250)
        (m.control / "manifest.json").read_bytes()
    assert peak.bytes <= (32 + 128) * MEBIBYTE
