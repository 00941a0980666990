"""The archives that the benchmark reads, made once and kept.

stored.npz and deflated.npz hold a few large arrays of the kinds people keep, native/ the same arrays as .npy
files; many-stored.npz and many-deflated.npz hold very many small ones.
"""

import io
import json
import pathlib
import struct
import zipfile
import zlib

import numpy as np


def few_bits(rng, count):
    """float32 that came from bfloat16: eight bits of mantissa."""
    values = rng.standard_normal(count, dtype=np.float32)
    return (values.view(np.uint32) & 0xFFFF0000).view(np.float32)


def sparse(rng, count):
    values = rng.standard_normal(count, dtype=np.float32)
    values[rng.random(count, dtype=np.float32) < 0.95] = 0
    return values


# Name in deflated.npz -> what to call it, and its values for a number of bytes.
DEFLATED = {
    "few_bits": ("f32, 8 mantissa bits", lambda rng, n: few_bits(rng, n // 4)),
    "noise": ("f32 noise", lambda rng, n: rng.standard_normal(n // 4, dtype=np.float32)),
    "ramp": ("int64 ramp", lambda rng, n: np.arange(n // 8)),
    "tokens": ("uint16 token ids", lambda rng, n: np.minimum(rng.zipf(1.3, n // 2), 50256).astype(np.uint16)),
    "fp8": ("fp8 bytes", lambda rng, n: np.clip(rng.standard_normal(n) * 20 + 60, 0, 255).astype(np.uint8)),
    "sparse": ("f32, 95 % zeros", lambda rng, n: sparse(rng, n // 4)),
}

ROW_BYTES = 4096


def rows(values):
    return values.reshape(-1, ROW_BYTES // values.itemsize)


def large_arrays(place, stored_bytes, deflated_bytes):
    rng = np.random.default_rng(7)
    stored = {
        "table": rows(rng.standard_normal(stored_bytes // 4, dtype=np.float32)),
        "other": rows(rng.standard_normal(stored_bytes // 4, dtype=np.float32)),
        # Written as NumPy writes these types of ml_dtypes: void of their item size.
        "bf16": rows(few_bits(rng, stored_bytes // 4).view(np.uint16)[1::2].copy()).view("V2"),
        "e4m3fn": rows(rng.integers(0, 256, stored_bytes // 4, dtype=np.uint8)).view("V1"),
        "e5m2": rows(rng.integers(0, 256, stored_bytes // 4, dtype=np.uint8)).view("V1"),
        "int4": rows(rng.integers(0, 16, stored_bytes // 4, dtype=np.uint8)).view("V1"),
    }
    deflated = {name: rows(make(rng, deflated_bytes)) for name, (_, make) in DEFLATED.items()}
    np.savez(place / "stored.npz", **stored)
    np.savez_compressed(place / "deflated.npz", **deflated)
    for name in ("stored.npz", "deflated.npz"):
        set_file_types(place / name)
    (place / "native").mkdir()
    for name, values in {**stored, **deflated}.items():
        np.save(place / "native" / name, values)


def set_file_types(path):
    """Marks the members as regular files. np.savez leaves the type out, and some of fuse-zip's releases answer EIO
    for such members, which would leave nothing to compare with."""
    with zipfile.ZipFile(path) as archive:
        at, count = archive.start_dir, len(archive.infolist())
    with open(path, "r+b") as file:
        for _ in range(count):
            file.seek(at)
            entry = file.read(46)
            name, extra, comment = struct.unpack_from("<HHH", entry, 28)
            file.seek(at + 38)
            file.write(struct.pack("<I", struct.unpack_from("<I", entry, 38)[0] | 0o100000 << 16))
            at += 46 + name + extra + comment


def small_image(i):
    file = io.BytesIO()
    np.save(file, np.full((2, 2), i, dtype=np.float32))
    return file.getvalue()


def write_many(path, count, method):
    """A zip of `count` small arrays; zipfile would take minutes for a million."""
    template = small_image(0)
    head = template[:-16]
    directory = bytearray()
    offset = 0
    with open(path, "wb") as out:
        for i in range(count):
            name = b"w%07d.npy" % i
            image = head + struct.pack("<4f", i, i, i, i)
            data = image
            if method == 8:
                packer = zlib.compressobj(6, zlib.DEFLATED, -15)
                data = packer.compress(image) + packer.flush()
            # Version 2.0, 1 January 2024, no flags and no extra field.
            fields = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0x5821, zlib.crc32(image), len(data), len(image),
                                 len(name), 0)
            out.write(b"PK\x03\x04" + fields + name + data)
            directory += b"PK\x01\x02" + struct.pack("<H", 20) + fields
            directory += struct.pack("<HHHII", 0, 0, 0, 0, offset) + name
            offset += 30 + len(name) + len(data)
        out.write(directory)
        size = len(directory)
        out.write(struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, offset))
        out.write(struct.pack("<4sIQI", b"PK\x06\x07", 0, offset + size, 1))
        short = min(count, 0xFFFF)
        out.write(struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, short, short, min(size, 0xFFFFFFFF),
                              min(offset, 0xFFFFFFFF), 0))


def make(root, stored_bytes, deflated_bytes, many):
    """Makes what is missing under `root`; returns the directory."""
    wanted = {"stored": stored_bytes, "deflated": deflated_bytes, "many": many, "version": 2}
    place = pathlib.Path(root) / f"inputs-{stored_bytes >> 20}-{deflated_bytes >> 20}-{many}"
    stamp = place / "made.json"
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        return place
    for old in sorted(place.rglob("*"), reverse=True):
        old.rmdir() if old.is_dir() else old.unlink()
    place.mkdir(parents=True, exist_ok=True)
    large_arrays(place, stored_bytes, deflated_bytes)
    write_many(place / "many-stored.npz", many, 0)
    write_many(place / "many-deflated.npz", many, 8)
    stamp.write_text(json.dumps(wanted))
    return place
