"""Archives with very many members, or very large ones: made in seconds, and small on disk."""

import ctypes
import struct
import zlib

import numpy as np

from npycraft import header_text, image, npy
from zipcraft import DEFLATE, Entry, end_record, member

LOCAL_FIELDS = [("version", "<u2"), ("flags", "<u2"), ("method", "<u2"), ("time", "<u2"), ("date", "<u2"),
                ("crc", "<u4"), ("stored_size", "<u4"), ("size", "<u4"), ("name_length", "<u2"), ("extra", "<u2")]


def small_array(i):
    """What member `i` of write_many holds."""
    return np.array([i, 7 * i + 1], "<i8")


def small_name(i):
    return f"layers.{i:07d}.weight"


def write_many(path, count, method):
    """A zip of `count` arrays, under a second for each million: all records have one size, so NumPy fills them in."""
    head = npy(small_array(0))[:-16]
    coder = zlib.compressobj(6, zlib.DEFLATED, -15)
    # The header deflated, and 16 bytes in a stored block: the last.
    before = coder.compress(head) + coder.flush(zlib.Z_FULL_FLUSH) + b"\x01\x10\x00\xef\xff" if method else head
    names = [f"{small_name(i)}.npy".encode() for i in range(count)]
    data, head_crc = small_array(np.arange(count)).T.tobytes(), zlib.crc32(head)

    local = np.zeros(count, [("signature", "<u4"), *LOCAL_FIELDS, ("name", f"S{len(names[0])}"),
                             ("before", f"V{len(before)}"), ("data", "V16")])
    local["signature"], local["version"], local["method"], local["date"] = 0x04034B50, 20, method, 0x21
    local["crc"] = [zlib.crc32(data[at:at + 16], head_crc) for at in range(0, len(data), 16)]
    local["stored_size"], local["size"], local["name_length"] = len(before) + 16, len(head) + 16, len(names[0])
    local["name"], local["before"], local["data"] = names, np.void(before), np.frombuffer(data, "V16")

    listed = np.zeros(count, [("signature", "<u4"), ("made_by", "<u2"), *LOCAL_FIELDS, ("rest", "V10"),
                              ("offset", "<u4"), ("name", local["name"].dtype)])
    for field, _ in [*LOCAL_FIELDS, ("name", None)]:
        listed[field] = local[field]
    listed["signature"], listed["offset"] = 0x02014B50, np.arange(count, dtype="<u4") * local.itemsize
    with open(path, "wb") as out:
        local.tofile(out)
        listed.tofile(out)
        out.write(end_record(count, listed.nbytes, local.nbytes, zip64=True))


SEGMENT = 16 << 20
MARK = 64


def mark(i):
    return struct.pack("<Q", i) * (MARK // 8)


class Large:
    """A uint8 array of `segments` times 16 MiB: each begins with its number, then `noise` bytes, then zeros."""

    def __init__(self, segments, noise=16 << 10):
        self.segments, self.size = segments, segments * SEGMENT
        self.header = image(header_text("|u1", (self.size,)))
        self._noise = np.random.default_rng(4).bytes(noise)
        self._filler = self._noise + bytes(SEGMENT - MARK - noise)

    def at(self, offset, length):
        """Those bytes of the data."""
        found = b""
        while len(found) < length:
            segment, inside = divmod(offset + len(found), SEGMENT)
            piece = mark(segment)[inside:] if inside < MARK else self._filler[inside - MARK:inside - MARK + length]
            found += piece[:length - len(found)]
        return found

    def crc(self):
        combine = ctypes.CDLL("libz.so.1").crc32_combine
        combine.restype, combine.argtypes = ctypes.c_ulong, [ctypes.c_ulong, ctypes.c_ulong, ctypes.c_long]
        crc, filler_crc = zlib.crc32(self.header), zlib.crc32(self._filler)
        for i in range(self.segments):
            crc = combine(zlib.crc32(mark(i), crc), filler_crc, len(self._filler))
        return crc

    def stored_pieces(self):
        """The content, with numbers where that many zeros are."""
        yield self.header
        for i in range(self.segments):
            yield mark(i) + self._noise
            yield SEGMENT - MARK - len(self._noise)

    def deflated_pieces(self):
        """A deflate stream. A segment's number is in a block of its own that isn't compressed."""
        coder = zlib.compressobj(6, zlib.DEFLATED, -15)
        filler = coder.compress(self._filler) + coder.flush(zlib.Z_FULL_FLUSH)  # refers to nothing before it
        yield uncompressed(self.header)
        for i in range(self.segments):
            yield uncompressed(mark(i)) + filler
        yield uncompressed(b"", last=True)


def uncompressed(content, last=False):
    return struct.pack("<BHH", last, len(content), len(content) ^ 0xFFFF) + content


def write_large(path, members):
    """A zip of `members`: (name, a Large or the bytes of a content, method)."""
    directory, count = b"", 0
    with open(path, "wb") as out:
        for name, content, method in members:
            offset = out.tell()
            if isinstance(content, Large):
                pieces = content.deflated_pieces if method == DEFLATE else content.stored_pieces
                sizes = [piece if isinstance(piece, int) else len(piece) for piece in pieces()]
                entry = Entry(member(name, method=method, crc=content.crc(), stored=b"", stored_size=sum(sizes),
                                     size=len(content.header) + content.size))
                out.write(entry.local())
                for piece in pieces():
                    if isinstance(piece, int):
                        out.seek(piece, 1)
                    else:
                        out.write(piece)
            else:
                entry = Entry(member(name, content, method=method))
                out.write(entry.local())
            directory += entry.record(offset)
            count += 1
        offset = out.tell()
        out.write(directory + end_record(count, len(directory), offset, zip64=True))
