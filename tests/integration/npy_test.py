"""One .npy as the source: every dialect of the header, what is wrong with one, files of several images."""

import os
import pickle
import re
import struct

import numpy as np
import pytest

import mounting
from npycraft import byte_view, c_bytes, header_text, image, npy

SIX = np.arange(6, dtype="<f4")


def mounted(mount, home, content, *options, **more):
    (home / "x.npy").write_bytes(content)
    return mount(home / "x.npy", *options, **more)


def wide_struct(count):
    return np.zeros(1, [(f"f{i}", "<f8") for i in range(count)])


def spelled(descr, shape, fortran="False"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)


DIALECTS = {
    # name: (image, shape, Fortran order, descr, data in C order)
    "version 2": (image(header_text("<f4", (6,)), SIX.tobytes(), version=2), [6], False, "<f4", SIX.tobytes()),
    "version 3": (image(header_text("<f4", (6,)), SIX.tobytes(), version=3), [6], False, "<f4", SIX.tobytes()),
    "python 2 longs": (image(header_text("<f4", "(3L, 2L)"), SIX.tobytes(), align=16), [3, 2], False, "<f4",
                       SIX.tobytes()),
    "python 2 longs, version 2": (image(header_text("<f4", "(3L, 2L)"), SIX.tobytes(), version=2), [3, 2], False, "<f4",
                                  SIX.tobytes()),
    "aligned to 16": (image(header_text("<f4", (6,)), SIX.tobytes(), align=16), [6], False, "<f4", SIX.tobytes()),
    "not aligned": (image(header_text("<f4", (6,)), SIX.tobytes(), align=0), [6], False, "<f4", SIX.tobytes()),
    "no newline": (image(spelled("'<f8'", "(3, 2)", "True"), np.arange(6.0).tobytes(), align=16, newline=False), [3, 2],
                   True, "<f8", np.arange(6.0).reshape(2, 3).T.tobytes()),
    "go, misaligned": (image(header_text("<f8", "(2,)") + "   ", bytes(16), version=2, align=0), [2], False, "<f8",
                       bytes(16)),
    "fortran library": (image("{'descr': '<f8', 'fortran_order': True, 'shape': (10,4,), }".ljust(69),
                              np.arange(40.0).tobytes(), version=2, align=0), [10, 4], True, "<f8",
                        np.arange(40.0).reshape(4, 10).T.tobytes()),
    "rust": (image("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", SIX.tobytes()), [2, 3], False, "<f4",
             SIX.tobytes()),
    "other order and quotes": (image('{"shape":(6,),"fortran_order":False,"descr":"<f4"}', SIX.tobytes()), [6], False,
                               "<f4", SIX.tobytes()),
    "unicode prefix": (image("{u'descr': u'<f4', u'fortran_order': False, u'shape': (6,)}", SIX.tobytes()), [6], False,
                       "<f4", SIX.tobytes()),
    "blanks and newlines": (image("{ 'descr' :\n\t'<f4' ,'fortran_order':False,\n 'shape':( 2 , 3 , ) }",
                                  SIX.tobytes()), [2, 3], False, "<f4", SIX.tobytes()),
    "padded with NUL": (image(header_text("<f4", (6,)) + "\0" * 9, SIX.tobytes()), [6], False, "<f4", SIX.tobytes()),
    "0-d": (image(header_text("<i2", ()), b"\1\2"), [], False, "<i2", b"\1\2"),
    "zero-size": (image(header_text("<i2", (3, 0, 5))), [3, 0, 5], False, "<i2", b""),
    "big-endian": (image(header_text(">f4", (6,)), SIX.tobytes()), [6], False, ">f4", SIX.tobytes()),
    "plain name": (image(header_text("float32", (6,)), SIX.tobytes()), [6], False, "float32", SIX.tobytes()),
    "long double": (npy(np.arange(3, dtype=np.longdouble)), [3], False, "<f16",
                    np.arange(3, dtype=np.longdouble).tobytes()),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_of_the_header(mount, home, dialect):
    content, shape, fortran, descr, data = DIALECTS[dialect]
    m = mounted(mount, home, content)
    assert (m.path / "x.npy").read_bytes() == content
    assert (m.path / "x.raw").read_bytes() == data
    assert np.load(m.path / "x.u8view.npy").tobytes() == data
    meta = m.meta("x")
    assert (meta["shape"], meta["fortran_order"], meta["descr"]) == (shape, fortran, descr)
    assert meta["data_offset"] == len(content) - len(data)
    assert "error" not in meta
    assert os.listdir(m.path) == ["x.npy", "x.raw", "x.u8view.npy", "x.meta.json"]


@pytest.mark.parametrize("array", [
    np.zeros(2, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    np.zeros(2, np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [0, 8], "itemsize": 16})),
    np.zeros(2, [("n", [("x", "<f4"), ("y", ">i2")]), ("z", "?"), ("m", "<f8", (2, 3)), (("Title", "c"), "<U4")]),
    np.zeros(2, [("中", "<i4")]),
    np.zeros(2, [("ü", "<i4")]),
    np.zeros(3, []),
    np.array(["a", "żółw"]), np.array([b"ab", b""]), np.zeros(3, "M8[25s]"), np.zeros(3, "m8[ns]"),
    np.zeros(3, "M8"), np.zeros(2, "V7"), np.zeros((2, 2), "<c16"), np.zeros(4, "S0"), np.zeros(768, "<f2"),
], ids=lambda array: str(array.dtype)[:40])
def test_every_kind_of_type(mount, home, array):
    m = mounted(mount, home, npy(array))
    assert (m.path / "x.npy").read_bytes() == npy(array)
    assert (m.path / "x.raw").read_bytes() == c_bytes(array)
    if array.itemsize:
        assert np.array_equal(np.load(m.path / "x.u8view.npy"), byte_view(array))
    assert "error" not in m.meta("x")
    if array.dtype.names:
        assert [field["name"] for field in m.meta("x")["fields"]] == list(array.dtype.names)


@pytest.mark.parametrize("count", [500, 2000, 5000])
def test_headers_past_what_numpy_reads(mount, home, count):
    m = mounted(mount, home, npy(wide_struct(count)))
    meta = m.meta("x")
    assert len(meta["fields"]) == count and meta["itemsize"] == 8 * count
    assert (m.path / "x.raw").stat().st_size == 8 * count
    assert any("max_header_size" in note for note in meta.get("notes", [])) == (count > 500)


def test_a_field_title_is_kept(mount, home):
    m = mounted(mount, home, npy(np.zeros(2, [(("Title", "c"), "<U4")])))
    (field,) = m.meta("x")["fields"]
    assert (field["name"], field["title"], field["dtype"]) == ("c", "Title", "<U4")


@pytest.mark.parametrize("content", [
    b"\x93NUMPY\2\0" + struct.pack("<I", 0xFFFFFFF0),
    b"\x93NUMPY\1\0\xff\xff{",
    b"\x93NUMPY\4\0\x10\0{}" + b" " * 20,
    b"\x93NUMPY\1\1\x10\0{}" + b" " * 20,
    b"\x93NUMPY",
    image("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
    image("{'descr': '<f4', 'fortran_order': False}"),
    image("{'descr': '<f4', 'fortran_order': False, 'shape': [2]}", bytes(8)),
    image("{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}", bytes(8)),
    image("{'descr': '<f4', 'fortran_order': false, 'shape': (2,)}", bytes(8)),
    image("{'descr': " + "[" * 50_000 + "]" * 50_000, version=2),
    image("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "(" * 30_000, version=1),
    image("__import__('os').mkdir('trap')"),
    b"\x93NUMPY\1\0\x10\0" + b"\xff" * 16,
], ids=["4 GiB header", "past the end", "version 4", "version 1.1", "magic only", "negative", "no shape",
        "shape a list", "float in shape", "false", "nested", "nested shape", "code", "not text"])
def test_a_header_that_cannot_be_read_is_refused(npyfs, home, content):
    (home / "x.npy").write_bytes(content)
    message = npyfs.refused("mount", home / "x.npy", home / "mnt")
    assert "x.npy: " in message and len(message.splitlines()) == 1 and len(message) < 1000
    assert not (home / "mnt").exists()


@pytest.mark.parametrize("shape", ["(4294967296, 4294967296)", "(18446744073709551615,)", "(99999999999999999999999,)",
                                   "(4611686018427387904,)"])
def test_a_shape_whose_product_overflows_is_refused_or_marked(npyfs, mount, home, shape):
    (home / "x.npy").write_bytes(image(header_text("<f4", shape), bytes(64)))
    if npyfs.run("ls", home / "x.npy").returncode == 1:
        assert "x.npy: " in npyfs.refused("mount", home / "x.npy", home / "mnt")
        return
    m = mount(home / "x.npy", announced=["x.npy"])
    assert m.meta("x")["error"]
    assert os.listdir(m.path) == ["x.npy", "x.meta.json"]


def test_fewer_bytes_than_the_shape_needs(mount, home):
    m = mounted(mount, home, npy(SIX)[:-6], announced=["x.npy"])
    assert os.listdir(m.path) == ["x.npy", "x.meta.json"]
    assert (m.path / "x.npy").read_bytes() == npy(SIX)[:-6]
    assert re.search(r"\b24\b", m.meta("x")["error"]) and re.search(r"\b18\b", m.meta("x")["error"])
    assert mounting.errno_name(os.stat, m.path / "x.raw") == "ENOENT"
    assert [error["errno"] for error in m.errors()] == ["EIO"]


def test_more_bytes_than_the_shape_needs(mount, home):
    m = mounted(mount, home, npy(SIX) + b"seven!!", announced=["x.npy"])
    assert (m.path / "x.npy").read_bytes() == npy(SIX) + b"seven!!"
    assert (m.path / "x.raw").read_bytes() == SIX.tobytes()
    assert any("7" in note and "extra" in note.lower() for note in m.meta("x")["notes"])
    assert "error" not in m.meta("x")


@pytest.mark.parametrize("value", [{"a": 1}, None, [SIX, SIX[:2]]], ids=["dict", "None", "list"])
def test_objects_are_shown_and_never_run(mount, home, value):
    array = np.empty(2, object) if isinstance(value, list) else np.array(value, object)
    if isinstance(value, list):
        array[:] = value
    m = mounted(mount, home, npy(array))
    assert [name for name in os.listdir(m.path) if "." in name] == ["x.npy", "x.meta.json"]
    assert m.meta("x")["pickled"] is True and "error" not in m.meta("x")
    assert (m.path / "x.npy").read_bytes() == npy(array)


@pytest.mark.parametrize("descr", ["|O", "|O8", "O"])
def test_a_hostile_pickle_leaves_no_trace(mount, home, descr):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(home / "trap"),)

    m = mounted(mount, home, image(header_text(descr, (1,)), pickle.dumps(Trap())), announced=["mkdir"])
    mounting.tree(m.path)
    assert m.meta("x")["pickled"] is True
    assert not (home / "trap").exists()


def in_chunks(array, rows):
    return b"".join(npy(array[i:i + rows]) for i in range(0, len(array), rows))


CHUNKED = np.arange(40, dtype="<f4").reshape(10, 4)


def test_a_file_of_several_images(mount, home):
    content = in_chunks(CHUNKED, 4)
    m = mounted(mount, home, content)
    assert (m.path / "x.npy").read_bytes() == content
    assert np.array_equal(np.load(m.path / "x.npy"), CHUNKED[:4])
    assert (m.path / "x.raw").read_bytes() == CHUNKED[:4].tobytes()
    assert m.meta("x")["shape"] == [4, 4]
    assert "x.parts" in os.listdir(m.path) and "x.concat.npy" in os.listdir(m.path)
    for i in range(3):
        part = m.path / "x.parts" / f"{i}.npy"
        assert part.read_bytes() == npy(CHUNKED[4 * i:4 * i + 4])
        assert (m.path / "x.parts" / f"{i}.raw").read_bytes() == CHUNKED[4 * i:4 * i + 4].tobytes()
    assert not (m.path / "x.parts/3.npy").exists()
    assert np.array_equal(np.load(m.path / "x.concat.npy"), CHUNKED)
    assert np.array_equal(np.load(m.path / "x.concat.npy", mmap_mode="r"), CHUNKED)
    assert (m.path / "x.concat.npy").read_bytes() == npy(CHUNKED)
    assert (m.path / "x.concat.raw").read_bytes() == CHUNKED.tobytes()
    assert np.load(m.path / "x.concat.u8view.npy").shape == (10, 16)
    assert m.meta("x.concat")["shape"] == [10, 4]
    assert sorted(m.manifest()) == ["x", "x.concat", "x.parts/0", "x.parts/1", "x.parts/2"]


def test_images_that_do_not_agree_are_not_joined(mount, home):
    m = mounted(mount, home, npy(CHUNKED) + npy(SIX) + npy(CHUNKED.astype("<f8")))
    assert sorted(m.manifest()) == ["x", "x.parts/0", "x.parts/1", "x.parts/2"]
    assert not (m.path / "x.concat.npy").exists()
    assert np.array_equal(np.load(m.path / "x.parts/1.npy"), SIX)


def test_hundreds_of_images_with_junk_at_the_end(mount, home):
    rows = np.arange(1500, dtype="<i2").reshape(500, 3)
    m = mounted(mount, home, in_chunks(rows, 1) + b"junk", announced=["x.npy"])
    assert np.array_equal(np.load(m.path / "x.concat.npy"), rows)
    assert np.array_equal(np.load(m.path / "x.parts/499.npy"), rows[499:])


def test_the_last_of_several_images_is_cut(mount, home):
    m = mounted(mount, home, in_chunks(CHUNKED, 4)[:-5], announced=["x.npy"])
    assert np.array_equal(np.load(m.path / "x.parts/1.npy"), CHUNKED[4:8])
    assert (m.path / "x.raw").read_bytes() == CHUNKED[:4].tobytes()


def test_listing_of_several_images_with_views(mount, home):
    m = mounted(mount, home, in_chunks(CHUNKED, 5), "--views", "npy")
    assert sorted(os.listdir(m.path)) == ["x.concat.npy", "x.npy", "x.parts"]
    assert sorted(os.listdir(m.path / "x.parts")) == ["0.npy", "1.npy"]


def test_one_image_has_no_parts(mount, home):
    m = mounted(mount, home, npy(CHUNKED))
    assert not (m.path / "x.parts").exists() and not (m.path / "x.concat.npy").exists()


@pytest.mark.parametrize("name", ["x", "x.dat", "x.npz"])
def test_a_npy_is_known_by_its_bytes(mount, home, name):
    (home / name).write_bytes(npy(SIX))
    m = mount(home / name)
    (path,) = m.manifest()
    assert np.array_equal(np.load(m.path / f"{path}.npy"), SIX)


@pytest.mark.parametrize("dtype, raw, itemsize", [
    ("<f1", b"\x32\x36\x39", 1), ("<V2", bytes(6), 2), ("<V1", b"\x30" * 3, 1), ("|V1", b"\x30" * 3, 1),
    ("<g2", bytes(6), 2), ("<c4", bytes(12), 4), ("<W4", bytes(12), 4), ("int2", b"\0\1\2", 1),
    ("bfloat16", bytes(6), 2), ("float8_e4m3fn", b"\0\1\2", 1), ("<f10", bytes(30), 10),
])
def test_types_that_numpy_does_not_know_keep_their_bits(mount, home, dtype, raw, itemsize):
    content = image(header_text(dtype, (3,)), raw)
    m = mounted(mount, home, content)
    assert (m.path / "x.npy").read_bytes() == content
    assert (m.path / "x.raw").read_bytes() == raw
    assert np.load(m.path / "x.u8view.npy").shape == (3 * itemsize,)
    assert m.meta("x")["descr"] == dtype and m.meta("x")["itemsize"] == itemsize


@pytest.mark.parametrize("descr, dtype", [
    ("<f1", "float8_e5m2"), ("<V2", "bfloat16"), (">V2", "bfloat16"), ("<g2", "bfloat16"), ("<c4", "complex32"),
    ("int2", "int2"), ("float8_e4m3fn", "float8_e4m3fn"), ("<V1", None)])
def test_the_element_type_as_far_as_the_header_tells(mount, home, descr, dtype):
    size = {"<f1": 1, "int2": 1, "float8_e4m3fn": 1, "<V1": 1, "<c4": 4}.get(descr, 2)
    meta = mounted(mount, home, image(header_text(descr, (3,)), bytes(3 * size))).meta("x")
    if dtype:
        assert meta["dtype"] == dtype
    else:
        assert meta["dtype"] in (None, "|V1"), "not a type that the header leaves open"
        assert {"float8_e4m3fn", "int4", "float4_e2m1fn"} <= set(meta["candidates"])


def test_dtype_options_settle_an_ambiguous_type(mount, home):
    np.savez(home / "x.npz", **{"a/w": np.zeros(3, "V1"), "a/b/w": np.zeros(3, "V1"), "v": np.zeros(3, "V1")})
    m = mount(home / "x.npz", "--dtype", "a/b/*=float8_e3m4", "--dtype", "a*=float8_e4m3")
    types = {path: (entry["dtype"], entry["dtype_from"]) for path, entry in m.manifest().items()}
    assert types["a/w"] == ("float8_e4m3", "option") and types["a/b/w"] == ("float8_e3m4", "option")
    assert types["v"][1] == "header"


def test_a_dtype_option_that_does_not_fit_is_that_arrays_error(mount, home):
    np.savez(home / "x.npz", s=np.zeros(3, "i1, f8"), v=np.zeros(3, "V1"), w=np.zeros(3, "V1"))
    m = mount(home / "x.npz", "--dtype", "s=bfloat16", "--dtype", "v=bfloat16", announced=["s", "v"])
    assert m.meta("s")["error"] and m.meta("v")["error"] and "error" not in m.meta("w")
    assert (m.path / "v.npy").read_bytes() == npy(np.zeros(3, "V1"))
