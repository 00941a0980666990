"""Archives as other writers make them, and archives that lie or are damaged."""

import ctypes
import os
import re
import struct
import zipfile

import numpy as np
import pytest

import mounting
from npycraft import header_text, image, npy
from zipcraft import (BZIP2, DEFLATE, DESCRIPTOR, ENCRYPTED, LZMA, XZ, ZSTD, archive, directory_offset, member,
                      raw_deflate)

A, B = np.arange(6, dtype="<f4").reshape(2, 3), np.arange(5, dtype="<i8")
MEBIBYTE = 1 << 20
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123456\n"


def pair(**fields):
    return [member("a.npy", npy(A), **fields), member("b.npy", npy(B), **fields)]


def is_pair(m):
    """Whether the mount shows the two arrays, whole."""
    for name, array in (("a", A), ("b", B)):
        assert (m.path / f"{name}.npy").read_bytes() == npy(array)
        assert (m.path / f"{name}.raw").read_bytes() == array.tobytes()
    assert list(m.manifest()) == ["a", "b"]
    assert m.errors() == []
    return True


@pytest.mark.parametrize("content", [
    archive(pair(zip64_local=True)),
    archive(pair(local_extra=struct.pack("<HHQQ", 1, 16, 152, 152))),
    archive(pair(local_extra=b"UT\x05\x00\x01\0\0\0\0")),
    archive(pair(flags=DESCRIPTOR)),
    archive(pair(flags=DESCRIPTOR, method=DEFLATE)),
    archive(pair(date=0)),
    archive(pair(method=DEFLATE)),
    archive(pair(extra=b"\x01\0\x18\0" + b"\0" * 24)),
    archive(pair(), comment=b"hello"),
    archive(pair(), comment=b"PK\x05\x06 is only a comment that looks like an end" * 3),
    archive(pair(), trailer=b"\0" * 1000),
    archive(pair(), zip64_end=True),
    archive(pair(), prefix=b"#!/bin/sh\nexit\n"),
    archive(pair(method=DEFLATE), prefix=b"\0" * 70_000),
    archive(pair(), prefix=b"#!/bin/sh\nexit\n", zip64_end=True),
    archive([member("other.npy", npy(B))]) + archive(pair()),
], ids=["zip64 local headers", "zip64 local extra", "local extra", "data descriptors", "deflated with descriptors",
        "date 0", "deflated", "surplus zip64 extra", "comment", "comment like an end", "trailing zeros", "zip64 end",
        "prefix", "long prefix", "prefix and zip64 end", "concatenated: the last one"])
def test_archives_of_every_shape(mount, home, content):
    (home / "x.npz").write_bytes(content)
    assert is_pair(mount(home / "x.npz"))


def test_an_archive_written_to_a_pipe(mount, home):
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as out:
        np.savez_compressed(out, a=A, b=B)
    with os.fdopen(reader, "rb") as pipe:
        (home / "x.npz").write_bytes(pipe.read())
    assert is_pair(mount(home / "x.npz"))


def test_a_zip64_extra_too_short_to_be_one_harms_nobody_else(mount, home):
    (home / "x.npz").write_bytes(archive([member("a.npy", npy(A), extra=b"\x01\0\x0a\0" + b"\0" * 10),
                                          member("b.npy", npy(B))]))
    m = mount(home / "x.npz", announced=["a.npy", "x.npz"])
    assert (m.path / "b.npy").read_bytes() == npy(B)
    assert (m.path / "a.npy").read_bytes() == npy(A)


def test_a_member_without_the_suffix_is_an_array_if_it_is_one(mount, home):
    (home / "x.npz").write_bytes(archive([member("bare", npy(A)), member("deflated", npy(B), method=DEFLATE),
                                          member("text", b"hello")]))
    m = mount(home / "x.npz")
    assert os.listdir(m.path)[:4] == ["bare.npy", "bare.raw", "bare.u8view.npy", "bare.meta.json"]
    assert np.array_equal(np.load(m.path / "bare.npy"), A) and np.array_equal(np.load(m.path / "deflated.npy"), B)
    assert m.manifest()["bare"]["source"]["member"] == "bare"
    assert (m.path / "text").read_bytes() == b"hello"
    assert not (m.path / "bare").exists()


def test_of_two_members_with_one_name_the_last_counts(mount, home):
    (home / "x.npz").write_bytes(archive([member("a.npy", npy(B)), member("a.npy", npy(A)), member("b.npy", npy(B)),
                                          member("t.txt", b"old"), member("t.txt", b"new")]))
    m = mount(home / "x.npz", announced=["a.npy", "t.txt"])
    assert list(m.manifest()) == ["a", "b"]
    assert (m.path / "a.npy").read_bytes() == npy(A)
    assert (m.path / "t.txt").read_bytes() == b"new"


def test_two_directory_records_of_one_member_are_one_array(mount, home):
    members = pair()
    (home / "x.npz").write_bytes(archive([members[0], member("a.npy", npy(A), offset=0), members[1]]))
    m = mount(home / "x.npz", announced=["a.npy"])
    assert sorted(m.manifest()) == ["a", "b"]
    assert (m.path / "a.npy").read_bytes() == npy(A)


def test_a_record_whose_local_header_has_another_name_is_damaged(mount, home):
    members = pair()
    (home / "x.npz").write_bytes(archive([members[0], member("evil.npy", npy(A), offset=0), members[1]]))
    m = mount(home / "x.npz", announced=["evil"])
    assert (m.path / "a.npy").read_bytes() == npy(A) and (m.path / "b.npy").read_bytes() == npy(B)
    assert [error["errno"] for error in m.errors() if "evil" in error["where"]] == ["EIO"]
    assert mounting.errno_name((m.path / "evil.npy").read_bytes) == "EIO"


def test_overlapping_members_are_damaged_and_the_others_are_not(mount, home):
    inner = archive([member("inner.npy", npy(A))])[:30 + 9 + len(npy(A))]
    outer = member("outer.bin", b"x" * 100 + inner + b"y" * 100)
    inside = 30 + len(b"outer.bin") + 100
    (home / "x.npz").write_bytes(archive([outer, member("inner.npy", npy(A), offset=inside), member("b.npy", npy(B))]))
    m = mount(home / "x.npz", announced=["outer", "inner"])
    assert (m.path / "b.npy").read_bytes() == npy(B)
    assert any("inner" in error["where"] or "outer" in error["where"] for error in m.errors())


def damaged(mount, home, bad, announced="bad"):
    """Mounts an archive of two sound arrays and `bad` between them; the sound ones must be whole."""
    (home / "x.npz").write_bytes(archive([member("a.npy", npy(A)), bad, member("b.npy", npy(B), method=DEFLATE)]))
    m = mount(home / "x.npz", announced=[announced])
    assert (m.path / "a.npy").read_bytes() == npy(A) and (m.path / "b.npy").read_bytes() == npy(B)
    return m


def has_no_views(m, name):
    return all(mounting.errno_name(os.stat, m.path / f"{name}.{view}") == "ENOENT"
               for view in ("raw", "u8view.npy", "f32view.npy"))


def test_bzip2_members_are_read(mount, home):
    array = np.arange(200_000, dtype="<i4")
    (home / "x.npz").write_bytes(archive([member("x.npy", npy(array), method=BZIP2),
                                          member("note", b"hi", method=BZIP2)]))
    m = mount(home / "x.npz")
    assert (m.path / "x.npy").read_bytes() == npy(array)
    assert (m.path / "x.raw").read_bytes() == array.tobytes()
    assert (m.path / "note").read_bytes() == b"hi"
    assert m.manifest()["x"]["source"]["compression"] == "bzip2"


def decodes(npyfs, method):
    """Whether the libzip that the program is linked with knows a method."""
    linked = npyfs.command("ldd", npyfs.binary).stdout
    libzip = ctypes.CDLL(re.search(r"libzip\.so\S* => (\S+)", linked)[1])
    return libzip.zip_compression_method_supported(method, 0) == 1


@pytest.mark.parametrize("method, name", [(LZMA, "lzma"), (ZSTD, "zstd"), (XZ, "xz"), (98, "98"), (1, "1")])
def test_other_methods_are_read_by_libzip_or_named(mount, npyfs, home, method, name):
    m = damaged(mount, home, member("bad.npy", npy(A), method=method))
    assert (m.path / "bad.npy").stat().st_size == len(npy(A))
    if decodes(npyfs, method):
        assert (m.path / "bad.npy").read_bytes() == npy(A)
        assert (m.path / "bad.raw").read_bytes() == A.tobytes()
        assert m.manifest()["bad"]["source"]["compression"] == name
        return
    assert mounting.errno_name((m.path / "bad.npy").read_bytes) == "EOPNOTSUPP"
    assert name in m.meta("bad")["error"]
    assert has_no_views(m, "bad")
    assert [error["errno"] for error in m.errors() if "bad.npy" in error["where"]] == ["EOPNOTSUPP"]


def test_an_encrypted_member_is_shown_but_not_to_be_read(mount, home):
    m = damaged(mount, home, member("bad.npy", npy(A), flags=ENCRYPTED))
    assert mounting.errno_name((m.path / "bad.npy").read_bytes) == "EACCES"
    assert "encrypted" in m.meta("bad")["error"]
    assert has_no_views(m, "bad")
    assert m.manifest()["bad"]["error"]


def test_a_wrong_crc_shows_when_a_deflated_member_was_read_through(mount, home):
    array = np.arange(100_000, dtype="<i4")
    m = damaged(mount, home, member("bad.npy", npy(array), method=DEFLATE, crc=1))
    with open(m.path / "bad.npy", "rb", buffering=0) as file:
        assert os.pread(file.fileno(), 1000, 200) == npy(array)[200:1200], "part of it must be readable"
    assert mounting.errno_name((m.path / "bad.npy").read_bytes) == "EIO"
    assert [error["errno"] for error in m.errors() if "bad.npy" in error["where"]] == ["EIO"]
    assert "bad.npy" in m.log()


def test_the_crc_of_a_stored_member_is_not_checked_while_reading(mount, home):
    m = damaged(mount, home, member("bad.npy", npy(A), crc=1))
    assert (m.path / "bad.npy").read_bytes() == npy(A)
    assert m.errors() == []


def test_a_deflate_stream_that_ends_early_is_an_error_from_there_on(mount, home):
    array = np.random.default_rng(1).integers(0, 255, MEBIBYTE, np.uint8)
    content = npy(array)
    m = damaged(mount, home, member("bad.npy", content, method=DEFLATE, stored=raw_deflate(content)[:500_000]))
    assert (m.path / "bad.npy").stat().st_size == len(content)
    with open(m.path / "bad.raw", "rb", buffering=0) as file:
        assert os.pread(file.fileno(), 4096, 100_000) == array.tobytes()[100_000:104_096]
        assert mounting.errno_name(os.pread, file.fileno(), 4096, 900_000) == "EIO"
    for _ in range(3):
        assert mounting.errno_name((m.path / "bad.npy").read_bytes) == "EIO"
    assert len([error for error in m.errors() if "bad.npy" in error["where"]]) == 1


def test_a_broken_deflate_stream_is_an_error(mount, home):
    content = npy(np.arange(300_000))
    stored = bytearray(raw_deflate(content))
    stored[len(stored) // 2:len(stored) // 2 + 64] = b"\xff" * 64
    m = damaged(mount, home, member("bad.npy", content, method=DEFLATE, stored=bytes(stored)))
    assert mounting.errno_name((m.path / "bad.npy").read_bytes) == "EIO"


@pytest.mark.parametrize("declared", [2_000_000, 4_000_000])
def test_a_deflated_member_with_another_size_than_declared(mount, home, declared):
    content = bytes(range(250)) * 12_000
    m = damaged(mount, home, member("bad.bin", content, method=DEFLATE, size=declared))
    assert (m.path / "bad.bin").stat().st_size == declared
    with open(m.path / "bad.bin", "rb", buffering=0) as file:
        assert os.pread(file.fileno(), 1000, 5000) == content[5000:6000]
    assert mounting.errno_name((m.path / "bad.bin").read_bytes) == "EIO"
    assert any("bad.bin" in error["where"] for error in m.errors())


def test_a_stored_member_is_as_long_as_what_is_stored(mount, home):
    m = damaged(mount, home, member("bad.bin", b"0123456789", size=4_000_000_000, stored_size=10))
    assert (m.path / "bad.bin").stat().st_size == 10
    assert any("bad.bin" in error["where"] for error in m.errors())


def test_a_stored_member_that_runs_past_the_archive_is_damaged(mount, home):
    m = damaged(mount, home, member("bad.npy", npy(A), size=1 << 30, stored_size=1 << 30))
    assert mounting.errno_name((m.path / "bad.npy").read_bytes) == "EIO"
    assert m.meta("bad")["error"]
    assert has_no_views(m, "bad")


def test_a_terabyte_that_is_declared_and_not_there(mount, home):
    content = npy(np.arange(1000))
    m = damaged(mount, home, member("bad.npy", content, method=DEFLATE, size=1 << 40))
    assert (m.path / "bad.npy").stat().st_size == 1 << 40
    with open(m.path / "bad.npy", "rb", buffering=0) as file:
        assert os.pread(file.fileno(), 4096, 0) == content[:4096]
        assert mounting.errno_name(os.pread, file.fileno(), 4096, 1 << 39) == "EIO"
        assert mounting.errno_name(os.pread, file.fileno(), 4096, 100_000) == "EIO"


@pytest.mark.plain_build
def test_the_terabyte_takes_no_memory(mount, home):
    shape = (1 << 40) // 8 - 16
    content = image(header_text("<f8", (shape,)), np.arange(1000).tobytes())
    m = damaged(mount, home, member("bad.npy", content, method=DEFLATE, size=1 << 40))
    for place in (0, 1 << 20, 1 << 39, (1 << 40) - 9000):
        mounting.errno_name(read_at, m.path / "bad.npy", place)
        mounting.errno_name(read_at, m.path / "bad.u8view.npy", place)
    assert mounting.memory_of(m.pid) < 300 * MEBIBYTE


def read_at(path, offset):
    with open(path, "rb", buffering=0) as file:
        return os.pread(file.fileno(), 8192, offset)


def test_a_short_stored_array_keeps_its_bytes_and_loses_its_views(mount, home):
    m = damaged(mount, home, member("bad.npy", npy(A)[:-6]))
    assert (m.path / "bad.npy").read_bytes() == npy(A)[:-6]
    error = m.meta("bad")["error"]
    assert re.search(r"\b24\b", error) and re.search(r"\b18\b", error), f"no numbers in {error!r}"
    assert has_no_views(m, "bad")
    assert m.manifest()["bad"]["error"] == error


def test_an_unreadable_header_keeps_its_bytes(mount, home):
    content = image("{'descr': '<f4', 'shape': nonsense}", b"12345678")
    m = damaged(mount, home, member("bad.npy", content))
    assert (m.path / "bad.npy").read_bytes() == content
    assert m.meta("bad")["error"] and has_no_views(m, "bad")
    assert any("bad.npy" in error["where"] for error in m.errors())


def test_a_member_that_is_no_image_is_a_plain_file_whatever_its_name(mount, home):
    (home / "x.npz").write_bytes(archive([member("a.npy", npy(A)), member("lfs.npy", POINTER), member("e.npy", b"")]))
    m = mount(home / "x.npz", announced=["lfs.npy", "e.npy"])
    assert (m.path / "lfs.npy").read_bytes() == POINTER
    assert (m.path / "e.npy").read_bytes() == b""
    assert not (m.path / "lfs.raw").exists()


@pytest.mark.parametrize("name, content, words", [
    ("x.npz", b"<!DOCTYPE html><html>404</html>\n", "HTML"),
    ("x.npz", b"", "empty"),
    ("x.npz", POINTER, "LFS.*123456"),
    ("x.npz", archive(pair())[:200], "x.npz"),
    ("x.npz", archive(pair())[:directory_offset(archive(pair()))], "x.npz"),
    ("x.npz", archive(pair())[:-10], "x.npz"),
    ("x.npy", POINTER, "LFS.*123456"),
    ("x.npy", b"", "empty"),
    ("x.txt", b"just some text\n", "x.txt"),
], ids=["html", "empty", "lfs pointer", "half", "no directory", "cut end", "lfs npy", "empty npy", "text"])
def test_what_is_no_container_is_refused_with_what_it_is(npyfs, home, name, content, words):
    (home / name).write_bytes(content)
    for verb, *more in (["mount", home / "mnt"], ["ls"], ["info"]):
        message = npyfs.refused(verb, home / name, *more)
        assert len(message.splitlines()) == 1
        assert name in message and re.search(words, message, re.IGNORECASE), message
    assert not (home / "mnt").exists()


def test_a_cut_archive_says_how_far_it_goes(npyfs, home):
    content = archive([member(f"{i}.npy", npy(B)) for i in range(100)])
    (home / "x.npz").write_bytes(content[:9000])
    message = npyfs.refused("ls", home / "x.npz")
    assert "9000" in message or re.search(r"\b\d+ (complete )?(members|arrays)", message), message
    assert "--recover" not in message


@pytest.mark.plain_build
def test_a_zip_bomb_is_read_in_bounded_memory(mount, home):
    with zipfile.ZipFile(home / "x.npz", "w", zipfile.ZIP_DEFLATED) as out:
        with out.open("zeros.npy", "w", force_zip64=True) as zeros:
            zeros.write(image(header_text("<f8", (1 << 26,))))
            for _ in range(512):
                zeros.write(bytes(MEBIBYTE))
    m = mount(home / "x.npz", "--cache-size", "32M")
    assert (home / "x.npz").stat().st_size < MEBIBYTE
    with open(m.path / "zeros.raw", "rb", buffering=0) as file:
        while block := file.read(MEBIBYTE):
            assert not any(block[::4096])
    assert mounting.memory_of(m.pid) <= (32 + 128) * MEBIBYTE
