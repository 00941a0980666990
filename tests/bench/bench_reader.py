#!/usr/bin/env python3
"""One timed piece of reading, in a process of its own: bench_reader.py WORK ARGUMENT...

Prints {"seconds", "cpu"} of the reading alone, interpreter and imports left out.
"""

import ctypes
import json
import mmap
import os
import random
import resource
import struct
import subprocess
import sys
import time
import zipfile

PIECE = 1 << 20
MADV_POPULATE_WRITE = 23  # <linux/mman.h>


def size_of(path):
    return os.stat(path).st_size


def drain(path):
    """Reads a file to its end as dd bs=1M does."""
    buffer = bytearray(PIECE)
    fd = os.open(path, os.O_RDONLY)
    try:
        while os.readv(fd, [buffer]):
            pass
    finally:
        os.close(fd)


def cpu():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def have_memory(size):
    """Touches as much memory as reading `size` bytes takes, the page cache's too, and frees it.

    The host of a virtual machine takes back what nobody uses; the first touch of such a page costs ten times that of
    another, and would be charged to whoever runs after a pause.
    """
    if size:
        memory = mmap.mmap(-1, 2 * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)  # as NumPy has it for an array
        memory.madvise(MADV_POPULATE_WRITE)
        memory.close()


def timed(work, size=0):
    """The time that `work` takes, which reads `size` bytes for the first time."""
    have_memory(size)
    used, start = cpu(), time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - start, "cpu": cpu() - used}


def sequential(path):
    return timed(lambda: drain(path), size_of(path))


def again(path):
    """In the page cache and, as a file's that is in use, among the pages that the kernel holds on to."""
    drain(path)
    drain(path)
    return timed(lambda: drain(path))


def together(*paths):
    def work():
        readers = []
        for path in paths:
            pid = os.fork()
            if pid == 0:
                drain(path)
                os._exit(0)
            readers.append(pid)
        for pid in readers:
            if os.waitpid(pid, 0)[1]:
                raise OSError("a reader failed")

    return timed(work, sum(map(size_of, paths)))


def mapped_sum(path):
    import numpy as np

    return timed(lambda: np.load(path, mmap_mode="r").sum(), size_of(path))


def load(path):
    import numpy as np

    return timed(lambda: np.load(path), size_of(path))


def load_from_archive(archive, key):
    import numpy as np

    with zipfile.ZipFile(archive) as opened:
        size = opened.getinfo(f"{key}.npy").file_size
    return timed(lambda: np.load(archive)[key], size)


def random_reads(path, count, after_pass):
    """`count` reads of 4 KiB at places of their own; with `after_pass` = 1 when the file was read once before."""
    fd = os.open(path, os.O_RDONLY)
    pages = os.fstat(fd).st_size // 4096
    places = random.Random(11).sample(range(pages), min(int(count), pages))
    if after_pass == "1":
        drain(path)
        # What is wanted is the file system's answer, not the kernel's copy of it.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)

    def work():
        for page in places:
            os.pread(fd, 4096, page * 4096)

    return {**timed(work), "count": len(places)}


def last_row(path, length):
    def work():
        fd = os.open(path, os.O_RDONLY)
        os.pread(fd, int(length), os.fstat(fd).st_size - int(length))
        os.close(fd)

    return timed(work)


def list_all(directory):
    return timed(lambda: subprocess.run(["ls", "-lR", directory], check=True, stdout=subprocess.DEVNULL))


def zipfile_read(archive, member):
    with zipfile.ZipFile(archive) as opened:

        def work():
            with opened.open(member) as file:
                while file.read(PIECE):
                    pass

        return timed(work)


def isal_inflate(archive, member):
    """The library's own speed: a member inflated by isal_inflate into one buffer of 256 KiB, over and over."""
    with zipfile.ZipFile(archive) as opened:
        entry = opened.getinfo(member)
    file = open(archive, "rb")
    bytes_of = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE)
    name, extra = struct.unpack_from("<HH", bytes_of, entry.header_offset + 26)
    start = entry.header_offset + 30 + name + extra
    library = ctypes.CDLL("libisal.so.2")
    # struct inflate_state begins with next_out, avail_out, total_out, next_in, read_in, avail_in.
    state = ctypes.create_string_buffer(256 << 10)
    out = ctypes.create_string_buffer(256 << 10)
    base = ctypes.addressof(ctypes.c_char.from_buffer(bytes_of))

    def work():
        library.isal_inflate_init(state)
        struct.pack_into("<QII", state, 0, 0, 0, 0)
        struct.pack_into("<Q", state, 16, base + start)
        struct.pack_into("<I", state, 32, entry.compress_size)
        left = entry.file_size
        while left:
            struct.pack_into("<QI", state, 0, ctypes.addressof(out), len(out))
            if library.isal_inflate(state):
                raise OSError("isal_inflate failed")
            made = len(out) - struct.unpack_from("<I", state, 8)[0]
            if not made:
                raise OSError("isal_inflate stopped")
            left -= made

    return timed(work)


WORK = {
    work.__name__: work
    for work in (sequential, again, together, mapped_sum, load, load_from_archive, random_reads, last_row, list_all,
                 zipfile_read, isal_inflate)
}

if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](*sys.argv[2:])))
