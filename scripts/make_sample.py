#!/usr/bin/env python3
"""Writes a small .npz to try npyfs with: make_sample.py FILE. Needs nothing but Python's own library.

Four arrays of the kinds that people meet: a float32 table, one in Fortran order under a nested name, eight-bit
floats that NumPy has no dtype for, and token ids.
"""

import array
import math
import struct
import sys
import zipfile


def npy(descr, shape, data, fortran_order=False):
    """A version 1.0 .npy image, its data aligned to 64 bytes."""
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}"
    padding = -(10 + len(header) + 1) % 64
    header = header.encode() + b" " * padding + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def floats(count, value):
    numbers = array.array("f", (value(i) for i in range(count)))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: make_sample.py FILE")
    members = {
        "token_embedding.npy": npy("<f4", (1000, 64), floats(64000, lambda i: i // 64 + (i % 64) / 64)),
        "blocks/0/attn_q.npy": npy("<f4", (64, 32), floats(2048, lambda i: math.sin(i)), fortran_order=True),
        "w_fp8.npy": npy("<f1", (16, 16), bytes(range(256))),
        "tokens.npy": npy("<u2", (4096,), struct.pack("<4096H", *(i * i % 50257 for i in range(4096)))),
    }
    with zipfile.ZipFile(sys.argv[1], "w") as archive:
        for name, image in members.items():
            # A fixed date, so that each run writes the same bytes.
            entry = zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED if name == "tokens.npy" else zipfile.ZIP_STORED
            archive.writestr(entry, image)


if __name__ == "__main__":
    main()
