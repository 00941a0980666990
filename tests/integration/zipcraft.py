"""Zip archives put together by hand, so that a test can say which field is odd.

    archive([member("a.npy", image), member("b.npy", image, method=DEFLATE, crc=0)])

The layout is APPNOTE.TXT 4.3. Python's zipfile writes only archives that are in order.
"""

import bz2
import dataclasses
import lzma
import struct
import zlib

STORED, DEFLATE, BZIP2, LZMA, ZSTD, XZ = 0, 8, 12, 14, 93, 95
ENCRYPTED, DESCRIPTOR, UTF8 = 0x1, 0x8, 0x800
ALL_ONES = 0xFFFFFFFF


@dataclasses.dataclass
class Member:
    """One entry; what is None is as the content has it."""

    name: bytes
    content: bytes
    method: int = STORED
    flags: int = 0
    date: int = 0x21  # 1980-01-01, as NumPy writes
    external: int = 0
    made_by: int = 0x314  # Unix
    stored: bytes | None = None  # what lies in the archive
    crc: int | None = None
    size: int | None = None  # as the directory declares it
    stored_size: int | None = None
    local_name: bytes | None = None
    local_extra: bytes = b""
    extra: bytes = b""
    zip64_local: bool = False
    offset: int | None = None  # of a local header that is already there: nothing is written


def member(name, content=b"", **fields):
    """A Member; `name` is bytes, or text that becomes UTF-8."""
    return Member(name.encode() if isinstance(name, str) else name, content, **fields)


def compressed(content, method):
    if method == DEFLATE:
        return raw_deflate(content)
    if method == BZIP2:
        return bz2.compress(content)
    if method == LZMA:
        filters = [{"id": lzma.FILTER_LZMA1, "dict_size": 1 << 16}]
        properties = struct.pack("<BI", (2 * 5 + 0) * 9 + 3, 1 << 16)
        return struct.pack("<BBH", 9, 4, 5) + properties + lzma.compress(content, lzma.FORMAT_RAW, filters=filters)
    if method == XZ:
        return lzma.compress(content, lzma.FORMAT_XZ)
    if method == ZSTD:
        return zstd_frame(content)
    return content


def zstd_frame(content):
    """One frame of blocks that aren't compressed (RFC 8878, 3.1.1)."""
    blocks = [content[at:at + (1 << 17)] for at in range(0, len(content), 1 << 17)] or [b""]
    headers = [len(block) << 3 | (block is blocks[-1]) for block in blocks]
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content)) + b"".join(
        struct.pack("<I", header)[:3] + block for header, block in zip(headers, blocks))


def raw_deflate(content, last=True):
    """A deflate stream, or blocks that another one may follow."""
    coder = zlib.compressobj(6, zlib.DEFLATED, -15)
    return coder.compress(content) + coder.flush(zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH)


class Entry:
    """A member with every field settled."""

    def __init__(self, given):
        self.given = given
        self.stored = given.stored if given.stored is not None else compressed(given.content, given.method)
        self.crc = given.crc if given.crc is not None else zlib.crc32(given.content)
        self.size = given.size if given.size is not None else len(given.content)
        self.stored_size = given.stored_size if given.stored_size is not None else len(self.stored)

    def local(self):
        given = self.given
        name = given.local_name if given.local_name is not None else given.name
        crc, stored_size, size, extra, tail = self.crc, self.stored_size, self.size, given.local_extra, b""
        if given.flags & DESCRIPTOR:
            tail = struct.pack("<IIII", 0x08074B50, crc, stored_size & ALL_ONES, size & ALL_ONES)
            crc = stored_size = size = 0
        elif given.zip64_local or max(size, stored_size) >= ALL_ONES:
            extra = struct.pack("<HHQQ", 1, 16, size, stored_size) + extra
            stored_size = size = ALL_ONES
        header = struct.pack("<IHHHHHIIIHH", 0x04034B50, 45 if given.zip64_local else 20, given.flags, given.method, 0,
                             given.date, crc, stored_size, size, len(name), len(extra))
        return header + name + extra + self.stored + tail

    def record(self, offset):
        given, wide, narrow = self.given, b"", []
        for value in (self.size, self.stored_size, offset):
            if value >= ALL_ONES:
                wide += struct.pack("<Q", value)
            narrow.append(min(value, ALL_ONES))
        extra = (struct.pack("<HH", 1, len(wide)) + wide if wide else b"") + given.extra
        return struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, given.made_by, 20, given.flags, given.method, 0,
                           given.date, self.crc, narrow[1], narrow[0], len(given.name), len(extra), 0, 0, 0,
                           given.external, narrow[2]) + given.name + extra


def archive(members, comment=b"", prefix=b"", trailer=b"", zip64_end=False):
    """The bytes of an archive. Offsets don't count `prefix`, as in a self-extracting one."""
    body, directory = bytearray(), bytearray()
    for given in members:
        entry = Entry(given)
        directory += entry.record(len(body) if given.offset is None else given.offset)
        if given.offset is None:
            body += entry.local()
    end = end_record(len(members), len(directory), len(body), comment, zip64_end)
    return b"".join([prefix, body, directory, end, trailer])


def end_record(count, size, offset, comment=b"", zip64=False):
    """What follows a central directory of `size` bytes at `offset`."""
    if not zip64:
        return struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, size, offset, len(comment)) + comment
    return b"".join([
        struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, offset),
        struct.pack("<IIQI", 0x07064B50, 0, offset + size, 1),
        struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, ALL_ONES, ALL_ONES, len(comment)), comment])


def directory_offset(archived):
    """Where the central directory begins."""
    return archived.index(b"PK\x01\x02")
