"""Arrays of .npz archives: every file that stands for one, and what is said of it."""

import json
import os
import zipfile
import zlib

import numpy as np
import pytest

import mounting
from npycraft import byte_view, c_bytes, npy
from zipcraft import DEFLATE, archive, member

RANDOM = np.random.default_rng(7)


def assorted_arrays():
    """One array of each kind that NumPy saves without pickling."""
    grid = RANDOM.standard_normal((17, 9, 5))
    aligned = np.zeros(3, np.dtype([("a", "i1"), ("b", "<f8"), ("c", "<U2", (2,))], align=True))
    aligned["b"] = [1.5, -2, 3e300]
    return {
        "f4": grid.astype("<f4"), "f8": grid, "big": grid.astype(">f4"), "half": grid.astype("<f2"),
        "fortran": np.asfortranarray(grid.astype("<f4")), "fortran8": np.asfortranarray(grid.astype(">i8")),
        "fortran2": np.asfortranarray(RANDOM.integers(0, 255, (300, 700), np.uint8)),
        "fortran_struct": np.asfortranarray(np.array([[(1, 2.0), (3, 4.0)], [(5, 6.0), (7, 8.0)]], "<i2, <f8")),
        "complex": (grid + 1j * grid).astype("<c16"), "long_double": grid.astype(np.longdouble),
        "flags": grid > 0, "unsigned": RANDOM.integers(0, 1 << 60, (4, 4), np.uint64),
        "bytes": np.arange(251, dtype="u1"),
        "text": np.array([["a", "bc"], ["", "żółw"]]), "ascii": np.array([b"a", b"bcd"]),
        "dates": np.array(["2024-02-29", "NaT"], "M8[D]"), "spans": np.array([1, -5], "m8[25s]"),
        "void": np.frombuffer(bytes(range(12)), "V3"), "aligned": aligned,
        "scalar": np.float32(2.5), "scalar_text": np.array("path/to/x"), "empty": np.zeros((0, 4), "<f4"),
        "empty_text": np.zeros(3, "S0"), "deep": np.zeros((1,) * 32, "<i2"),
    }


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_every_array_is_served_in_every_form(mount, home, save):
    arrays = assorted_arrays()
    save(home / "all.npz", **arrays)
    m = mount(home / "all.npz")
    with zipfile.ZipFile(home / "all.npz") as original:
        for name, array in arrays.items():
            array = np.asarray(array)
            assert (m.path / f"{name}.npy").read_bytes() == original.read(f"{name}.npy"), name
            assert (m.path / f"{name}.raw").read_bytes() == c_bytes(array), name
            loaded = np.load(m.path / f"{name}.npy")
            assert loaded.dtype == array.dtype and loaded.shape == array.shape, name
            assert loaded.tobytes() == array.tobytes(), name
            flat = np.fromfile(m.path / f"{name}.raw", array.dtype) if array.nbytes else np.zeros(0, array.dtype)
            assert array.nbytes == 0 or flat.reshape(array.shape).tobytes() == array.tobytes(), name
            if array.itemsize:
                bits = np.load(m.path / f"{name}.u8view.npy")
                wanted = byte_view(array)
                assert bits.dtype == np.uint8 and bits.shape == wanted.shape and bits.flags.c_contiguous, name
                assert bits.tobytes() == wanted.tobytes(), name


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_other_numpys_read_them_too(mount, home, python, save):
    grid = np.arange(24, dtype="<f4").reshape(4, 6)
    save(home / "x.npz", c=grid, f=np.asfortranarray(grid), i=np.arange(5))
    m = mount(home / "x.npz")
    printed = python("""
import sys, numpy as np
top, grid = sys.argv[1], np.arange(24, dtype="<f4").reshape(4, 6)
for mode in (None, "r", "c"):
    for name in ("c", "f"):
        assert np.array_equal(np.load(f"{top}/{name}.npy", mmap_mode=mode), grid)
        assert np.array_equal(np.load(f"{top}/{name}.u8view.npy", mmap_mode=mode).view("<f4"), grid)
assert np.array_equal(np.memmap(f"{top}/f.raw", "<f4", "r", shape=(4, 6)), grid)
print("fine")""", m.path)
    assert printed == "fine\n"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("name", ["c", "f"])
def test_reads_at_odd_places_and_sizes_are_exact(mount, home, save, name):
    grid = RANDOM.integers(-99, 99, (1001, 333), np.int16)
    save(home / "x.npz", c=grid, f=np.asfortranarray(grid))
    m = mount(home / "x.npz")
    for path, wanted in ((m.path / f"{name}.raw", c_bytes(grid)),
                         (m.path / f"{name}.npy", zipfile.ZipFile(home / "x.npz").read(f"{name}.npy"))):
        with open(path, "rb", buffering=0) as file:
            for _ in range(300):
                offset, length = int(RANDOM.integers(0, len(wanted) + 9)), int(RANDOM.integers(1, 9000))
                assert os.pread(file.fileno(), length, offset) == wanted[offset:offset + length]
            assert os.pread(file.fileno(), 10, len(wanted)) == b""
            assert os.pread(file.fileno(), 10, 1 << 60) == b""


def test_the_bytes_of_a_deflated_array_are_the_same_in_any_order_of_reading(mount, home):
    content = RANDOM.integers(0, 9, 6_000_000, np.uint8)
    np.savez_compressed(home / "x.npz", x=content)
    m = mount(home / "x.npz", "--cache-size", "1M")
    wanted = content.tobytes()
    with open(m.path / "x.raw", "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for offset in [5_999_000, 0, 3_000_001, 17, *RANDOM.integers(0, 5_990_000, 150).tolist()]:
            assert os.pread(file.fileno(), 4096, offset) == wanted[offset:offset + 4096]
    assert (m.path / "x.raw").read_bytes() == wanted


def test_meta_tells_all_in_a_fixed_order(mount, home):
    np.savez(home / "x.npz", w=np.arange(6, dtype="<f4").reshape(2, 3))
    m = mount(home / "x.npz")
    text = (m.path / "w.meta.json").read_text()
    assert text.endswith("}\n") and text.count("\n") == text.strip().count("\n") + 1
    assert list(json.loads(text).items()) == [
        ("npyfs", 1), ("name", "w"), ("dtype", "float32"), ("dtype_from", "header"), ("descr", "<f4"),
        ("shape", [2, 3]), ("fortran_order", False), ("itemsize", 4), ("size", 6), ("nbytes", 24), ("data_offset", 128),
        ("npy_version", "1.0"), ("files", {"npy": 152, "raw": 24, "u8view.npy": 152})]


@pytest.mark.parametrize("array, dtype, descr, shape", [
    (np.zeros(3, "<i8"), "int64", "<i8", [3]),
    (np.zeros(3, "?"), "bool", "|b1", [3]),
    (np.zeros((), "u1"), "uint8", "|u1", []),
    (np.zeros(2, ">f4"), ">f4", ">f4", [2]),
    (np.zeros(2, "<c8"), "complex64", "<c8", [2]),
    (np.zeros(2, "M8[ns]"), "datetime64[ns]", "<M8[ns]", [2]),
    (np.zeros(2, "<U21"), "<U21", "<U21", [2]),
    (np.zeros(2, "S3"), "|S3", "|S3", [2]),
    (np.zeros(2, "V5"), "|V5", "|V5", [2]),
    (np.zeros((0, 2), "<f2"), "float16", "<f2", [0, 2]),
], ids=lambda value: str(value) if isinstance(value, str) else "")
def test_meta_names_the_type_so_that_numpy_takes_it(mount, home, array, dtype, descr, shape):
    np.savez(home / "x.npz", x=array)
    meta = mount(home / "x.npz").meta("x")
    assert (meta["dtype"], meta["descr"], meta["shape"]) == (dtype, descr, shape)
    assert np.dtype(meta["dtype"]) == array.dtype and np.dtype(meta["descr"]) == array.dtype
    assert (meta["size"], meta["nbytes"], meta["itemsize"]) == (array.size, array.nbytes, array.itemsize)


def test_meta_of_a_structured_array_lists_its_fields(mount, home):
    dtype = np.dtype([("a", "i1"), ("b", "<f8"), ("n", [("x", ">i2")]), ("s", "<f4", (2, 3))], align=True)
    np.savez(home / "x.npz", x=np.zeros(4, dtype))
    meta = mount(home / "x.npz").meta("x")
    assert meta["dtype"] is None
    assert meta["itemsize"] == dtype.itemsize
    assert np.lib.format.descr_to_dtype([tuple(map(tuple_of, field)) for field in meta["descr"]]) == dtype
    assert [(field["name"], field["offset"]) for field in meta["fields"]] == [
        (name, dtype.fields[name][1]) for name in dtype.names]
    assert meta["fields"][1]["dtype"] == "float64" and meta["fields"][1]["descr"] == "<f8"


def tuple_of(value):
    """Lists of JSON as the tuples they were, where NumPy wants tuples: in a shape or a field."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [tuple(map(tuple_of, field)) for field in value]
    return tuple(value) if isinstance(value, list) else value


def test_meta_of_a_fortran_array_speaks_of_the_stored_order(mount, home):
    np.savez(home / "x.npz", x=np.asfortranarray(np.zeros((2, 3))))
    assert mount(home / "x.npz").meta("x")["fortran_order"] is True


def test_files_in_meta_have_the_sizes_that_stat_shows(mount, home):
    np.savez(home / "x.npz", **assorted_arrays())
    m = mount(home / "x.npz")
    for path, entry in m.manifest().items():
        assert {"npy", "raw", "u8view.npy"} <= set(entry["files"]), path
        for suffix, size in entry["files"].items():
            assert (m.path / f"{path}.{suffix}").stat().st_size == size, (path, suffix)


def test_the_manifest_is_meta_with_place_and_source(mount, home):
    images = {name: npy(array) for name, array in assorted_arrays().items()}
    odd = iter(range(99))
    archived = archive([member(f"{name}.npy", content, method=DEFLATE if next(odd) % 2 else 0)
                        for name, content in images.items()])
    (home / "x.npz").write_bytes(archived)
    m = mount(home / "x.npz")
    manifest = m.manifest()
    assert list(manifest) == list(images), "not in the order of the source"
    for number, (path, entry) in enumerate(manifest.items()):
        source = entry.pop("source")
        assert entry.pop("path") == path
        assert entry == m.meta(path)
        assert (source["file"], source["member"]) == ("x.npz", f"{path}.npy")
        assert source["crc32"] == zlib.crc32(images[path])
        if number % 2:
            assert source["compression"] == "deflate" and "offset" not in source
        else:
            assert source["stored_bytes"] == len(images[path])
            assert archived[source["offset"]:].startswith(images[path])


def test_equal_arrays_have_equal_meta_wherever_they_are(mount, home):
    array = np.arange(12).reshape(3, 4)
    np.savez(home / "stored.npz", x=array, other=array)
    np.savez_compressed(home / "deflated.npz", x=array)
    np.save(home / "x.npy", array)
    texts = {(mount(home / name).path / "x.meta.json").read_text() for name in ("stored.npz", "deflated.npz", "x.npy")}
    assert len(texts) == 1


def test_a_sound_archive_has_no_errors(mount, home):
    np.savez(home / "x.npz", x=np.arange(3))
    assert mount(home / "x.npz").errors() == []


def test_listing_shows_the_views_of_each_array_in_the_order_of_the_source(mount, home):
    (home / "x.npz").write_bytes(archive([member("b.npy", npy(np.arange(2))), member("note.txt", b"hello\n"),
                                          member("a.npy", npy(np.arange(3)))]))
    m = mount(home / "x.npz")
    assert os.listdir(m.path) == ["b.npy", "b.raw", "b.u8view.npy", "b.meta.json", "note.txt",
                                  "a.npy", "a.raw", "a.u8view.npy", "a.meta.json"]
    assert (m.path / "note.txt").read_bytes() == b"hello\n"


@pytest.mark.parametrize("views, listed", [
    ("npy", ["x.npy"]), ("raw:meta", ["x.raw", "x.meta.json"]), ("u8view", ["x.u8view.npy"]),
    ("all", ["x.npy", "x.raw", "x.u8view.npy", "x.meta.json"])])
def test_views_changes_listings_and_nothing_else(mount, home, views, listed):
    (home / "x.npz").write_bytes(archive([member("x.npy", npy(np.arange(3))), member("note.txt", b"hello\n")]))
    m = mount(home / "x.npz", "--views", views)
    assert os.listdir(m.path) == [*listed, "note.txt"]
    for suffix in ("npy", "raw", "u8view.npy", "meta.json"):
        assert (m.path / f"x.{suffix}").stat().st_size > 0


def test_the_control_directory_is_there_but_not_listed(mount, home):
    np.savez(home / "x.npz", x=np.arange(3))
    m = mount(home / "x.npz")
    assert ".npyfs" not in os.listdir(m.path)
    assert sorted(os.listdir(m.control)) == ["errors.json", "manifest.json", "stats.json"]
    assert not (m.path / "x").exists() and not (m.path / "x.npz").exists()


def test_stats_count_what_is_done(mount, home):
    array = RANDOM.integers(0, 9, 3_000_000, np.uint8)
    np.savez_compressed(home / "x.npz", x=array)
    m = mount(home / "x.npz")
    before = m.stats()
    assert before["pid"] == m.pid
    assert (m.path / "x.raw").read_bytes() == array.tobytes()
    after = m.stats()
    numbers = {name for name, value in before.items() if isinstance(value, int) and after[name] > value}
    assert {"requests", "bytes"} <= numbers
    assert any("decoded" in name for name in numbers)
    assert not after.get("replaced")


def test_many_small_arrays_in_nested_directories(mount, home):
    arrays = {f"block/{i // 100}/layer.{i}": np.full(i % 7, i) for i in range(2000)}
    np.savez(home / "x.npz", **arrays)
    m = mount(home / "x.npz")
    assert len(m.manifest()) == 2000
    assert sorted(os.listdir(m.path / "block"), key=int) == [str(i) for i in range(20)]
    assert len(os.listdir(m.path / "block/7")) == 400
    for name in list(arrays)[::97]:
        assert np.array_equal(np.load(m.path / f"{name}.npy"), arrays[name])


def test_more_members_than_a_plain_zip_can_count(mount, home):
    image = npy(np.arange(2))
    with zipfile.ZipFile(home / "x.npz", "w") as out:
        for i in range(70_000):
            out.writestr(zipfile.ZipInfo(f"{i}.npy"), image)
    m = mount(home / "x.npz", "--views", "npy")
    assert len(os.listdir(m.path)) == 70_000
    assert np.array_equal(np.load(m.path / "69999.npy"), np.arange(2))


def test_an_empty_npz_is_an_empty_directory(mount, home):
    np.savez(home / "x.npz")
    m = mount(home / "x.npz")
    assert os.listdir(m.path) == []
    assert m.manifest() == {} and m.errors() == []


def test_scipy_sparse_members_are_arrays_like_others(mount, home):
    np.savez(home / "s.npz", indices=np.array([0, 2], "<i4"), indptr=np.array([0, 1, 2], "<i4"), data=np.ones(2),
             shape=np.array([2, 3]), format=np.array(b"csr"))
    m = mount(home / "s.npz")
    assert m.meta("format")["dtype"] == "|S3" and m.meta("format")["shape"] == []
    assert (m.path / "format.raw").read_bytes() == b"csr"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_pickled_arrays_are_shown_and_never_run(mount, home, save):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(home / "trap"),)

    save(home / "x.npz", objects=np.array([1, Trap(), None], object), plain=np.arange(3))
    m = mount(home / "x.npz", announced=["mkdir"])
    assert os.listdir(m.path)[:2] == ["objects.npy", "objects.meta.json"]
    meta = m.meta("objects")
    assert meta["pickled"] is True and meta["descr"] == "|O" and meta["shape"] == [3]
    assert (m.path / "objects.npy").read_bytes() == zipfile.ZipFile(home / "x.npz").read("objects.npy")
    for view in ("raw", "u8view.npy", "f32view.npy"):
        assert mounting.errno_name(os.stat, m.path / f"objects.{view}") == "ENOENT"
    assert np.array_equal(np.load(m.path / "plain.npy"), np.arange(3))
    mounting.tree(m.path)
    assert not (home / "trap").exists()


def test_objects_inside_a_structured_type_are_pickled_too(mount, home):
    np.savez(home / "x.npz", x=np.zeros(2, [("o", "O"), ("i", "<i4")]))
    m = mount(home / "x.npz", announced=["fields with objects"])
    assert m.meta("x")["pickled"] is True
    assert os.listdir(m.path) == ["x.npy", "x.meta.json"]
