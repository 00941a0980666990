"""Every element type that ml_dtypes adds, saved the ways people save them and read back by plain NumPy."""

import json
import os
import pickle

import ml_dtypes
import numpy as np
import pytest

import mounting
from codes import EVERY_TYPE, every_code, values
from npycraft import c_bytes, header_text, image, npy, numpy_1_names
from zipcraft import DEFLATE, archive, member

# What a release of ml_dtypes has had so far.
RELEASED = {"bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
            "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
            "int1", "int2", "int4", "uint1", "uint2", "uint4", "complex32", "bcomplex32"}
# What the header that np.save writes tells by itself.
TOLD = {"<f1": "float8_e5m2", "<V2": "bfloat16"}


def test_no_type_is_left_out():
    assert RELEASED <= set(EVERY_TYPE)


def same_values(found, wanted):
    """Bit for bit, a NaN as any NaN."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.flags.c_contiguous
    found, wanted = (np.asarray(array).reshape(-1).view("<f4") for array in (found, wanted))
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), nan)
    np.testing.assert_array_equal(found[~nan].view("<u4"), wanted[~nan].view("<u4"))


def value_view(name):
    return "c64view.npy" if "complex" in name else "f32view.npy"


def save_with_sidecar(directory, suffix, arrays):
    directory.mkdir()
    for key, x in arrays.items():
        order = "F" if np.isfortran(x) else "C"
        (directory / f"{key}{suffix}").write_bytes(x.tobytes(order))
        (directory / f"{key}_meta.json").write_text(
            json.dumps({"shape": x.shape, "dtype": x.dtype.name, "order": order}))


def save_every_way(model, arrays, monkeypatch):
    """Directory of the mount -> where the type of its arrays is known from."""
    (model / "save").mkdir(parents=True)
    for key, x in arrays.items():
        np.save(model / f"save/{key}.npy", x)
    np.savez(model / "savez.npz", **arrays)
    np.savez_compressed(model / "savez_compressed.npz", **arrays)
    for suffix in (".bin", ".raw", ".npy"):
        save_with_sidecar(model / f"bytes{suffix}", suffix, arrays)
    for protocol in (2, 5):
        new = pickle.dumps(arrays, protocol)
        with numpy_1_names(monkeypatch):
            old = pickle.dumps(arrays, protocol)
        assert b"numpy._core" in new and b"numpy.core" in old and b"numpy._core" not in old
        (model / f"new{protocol}.pkl").write_bytes(new)
        (model / f"old{protocol}.pkl").write_bytes(old)
    return {"save": "option", "savez": "option", "savez_compressed": "option", "bytes.bin": "sidecar",
            "bytes.raw": "sidecar", "bytes.npy": "sidecar", "new2": "container", "old2": "container",
            "new5": "container", "old5": "container"}


@pytest.mark.parametrize("name", EVERY_TYPE)
def test_every_code_saved_every_way(npyfs, mount, home, monkeypatch, name):
    x = every_code(name)
    arrays = {"c": x, "f": np.asfortranarray(x), "scalar": x[3, 5, 1].reshape(()), "empty": x[:, :0],
              "odd": x[1:8, 2:15, 1:], "f odd": np.asfortranarray(x[1:8, 2:13, 1])}
    ways = save_every_way(home / "model", arrays, monkeypatch)
    options = [word for way, by in ways.items() if by == "option" for word in ("--dtype", f"{way}/*={name}")]
    m = mount(home / "model", *options)
    manifest = m.manifest()
    assert set(manifest) == {f"{way}/{key}" for way in ways for key in arrays}
    view = value_view(name)
    for path, entry in manifest.items():
        way, key = path.split("/")
        array, wanted = arrays[key], values(arrays[key])
        assert (entry["dtype"], entry["dtype_from"], entry["itemsize"]) == (name, ways[way], x.itemsize), path
        assert entry["files"][view] == (m.path / f"{path}.{view}").stat().st_size, path
        for mode in (None, "r"):
            same_values(np.load(m.path / f"{path}.{view}", mmap_mode=mode), wanted)
            codes = np.load(m.path / f"{path}.u8view.npy", mmap_mode=mode)
            assert codes.dtype == np.uint8 and codes.view(x.dtype).shape == (array.shape or (1,)), path
            assert codes.tobytes() == c_bytes(array), path
        assert (m.path / f"{path}.raw").read_bytes() == c_bytes(array), path
    assert view not in {name.partition(".")[2] for name in os.listdir(m.path / "save")}
    check_pieces(npyfs, m, view)


def check_pieces(npyfs, m, view):
    """Reads that begin and end within a value, by the page cache and past it."""
    for path in (f"{way}/{key}.{suffix}" for way in ("save", "savez_compressed", "bytes.raw", "new2")
                 for key in ("odd", "f odd") for suffix in (view, "u8view.npy")):
        whole = (m.path / path).read_bytes()
        for flags in ([], ["iflag=direct"]):
            done = npyfs.command("dd", f"if={m.path / path}", "bs=1", *flags, text=False)
            assert done.returncode == 0 and done.stdout == whole, (path, flags, done.stderr)
        with open(os.open(m.path / path, os.O_RDONLY | os.O_DIRECT), "rb", buffering=0) as file:
            for at in (0, 1, 127, 129, 131, 150, len(whole) - 3, len(whole) - 1, len(whole)):
                assert os.pread(file.fileno(), 7, at) == whole[at:at + 7], (path, at)


@pytest.mark.parametrize("name", [name for name in EVERY_TYPE if np.dtype(getattr(ml_dtypes, name)).itemsize > 1])
def test_big_endian_codes(mount, home, name):
    x = every_code(name)
    swapped = x.view("<u2").byteswap().reshape(*x.shape, -1)
    descr = f">V{x.itemsize}"
    text = header_text(descr, x.shape)
    in_fortran_order = np.asfortranarray(swapped.view(f"V{x.itemsize}")[..., 0]).tobytes("F")
    (home / "x.npz").write_bytes(archive([
        member("c.npy", image(text, swapped.tobytes())),
        member("f.npy", image(header_text(descr, x.shape, fortran_order=True), in_fortran_order), method=DEFLATE),
        member("scalar.npy", image(header_text(descr, ()), swapped[3, 5, 1].tobytes()))]))
    m = mount(home / "x.npz", *([] if name == "bfloat16" else ["--dtype", f"*={name}"]))
    for key, array in (("c", x), ("f", x), ("scalar", x[3, 5, 1].reshape(()))):
        assert (m.meta(key)["dtype"], m.meta(key)["descr"]) == (name, descr)
        for mode in (None, "r"):
            same_values(np.load(m.path / f"{key}.{value_view(name)}", mmap_mode=mode), values(array))
        codes = np.load(m.path / f"{key}.u8view.npy").view("<u2").byteswap()
        assert codes.view(x.dtype).shape == (array.shape or (1,)) and codes.tobytes() == c_bytes(array)


def small(name):
    """Six elements of the type."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    return np.arange(6 * dtype.itemsize, dtype="u1").view(dtype).reshape(2, 3)


def test_a_type_that_the_header_leaves_open_lists_all_it_could_be(npyfs, mount, home):
    np.savez(home / "x.npz", **{name: small(name) for name in EVERY_TYPE})
    m = mount(home / "x.npz")
    for name, entry in m.manifest().items():
        size = small(name).itemsize
        assert entry["dtype_from"] == "header"
        if entry["descr"] in TOLD:
            assert entry["dtype"] == TOLD[entry["descr"]] == name and "candidates" not in entry
            continue
        assert entry["dtype"] == f"|V{size}"
        wanted = {other for other in EVERY_TYPE if small(other).itemsize == size}
        assert set(entry["candidates"]) == wanted and name in wanted
        assert value_view(name) not in entry["files"] and not (m.path / f"{name}.{value_view(name)}").exists()
        assert np.load(m.path / f"{name}.u8view.npy").tobytes() == small(name).tobytes()
        text = npyfs.ok("info", home / "x.npz", name)
        assert "--dtype" in text and all(other in text for other in wanted)


def settled(m, names, by):
    manifest = m.manifest()
    for name in names:
        assert (manifest[name]["dtype"], manifest[name]["dtype_from"]) == (name, by)
        assert "candidates" not in manifest[name]
        same_values(np.load(m.path / f"{name}.{value_view(name)}"), values(small(name)))


def sidecars(names, told):
    """One file name or the other beside the array, in turn."""
    return {name + ("_meta.json", ".meta.json")[i % 2]: json.dumps(told | {"dtype": name}).encode()
            for i, name in enumerate(names)}


@pytest.mark.parametrize("told", [{"shape": [2, 3]}, {}], ids=["shape and dtype", "dtype alone"])
def test_a_sidecar_in_the_archive_settles_the_type(mount, home, told):
    (home / "x.npz").write_bytes(archive(
        [member(f"{name}.npy", npy(small(name))) for name in EVERY_TYPE]
        + [member(path, text) for path, text in sidecars(EVERY_TYPE, told).items()]))
    settled(mount(home / "x.npz"), [name for name in EVERY_TYPE if name not in TOLD.values()], "sidecar")


@pytest.mark.parametrize("told", [{"shape": [2, 3]}, {}], ids=["shape and dtype", "dtype alone"])
def test_a_sidecar_beside_the_file_settles_the_type(mount, home, told):
    (home / "model").mkdir()
    for name in EVERY_TYPE:
        np.save(home / f"model/{name}.npy", small(name))
    for path, text in sidecars(EVERY_TYPE, told).items():
        (home / "model" / path).write_bytes(text)
    settled(mount(home / "model"), [name for name in EVERY_TYPE if name not in TOLD.values()], "sidecar")


def test_options_settle_the_type_and_come_before_a_sidecar(mount, home):
    (home / "x.npz").write_bytes(archive(
        [member(f"{name}.npy", npy(small(name))) for name in EVERY_TYPE]
        + [member(f"{name}_meta.json", b'{"shape": [2, 3], "dtype": "|V%d"}' % small(name).itemsize)
           for name in EVERY_TYPE]))
    options = [word for name in EVERY_TYPE for word in ("--dtype", f"{name}={name}")]
    settled(mount(home / "x.npz", *options), EVERY_TYPE, "option")


@pytest.mark.parametrize("told, numbers", [
    ({"shape": [2, 3], "dtype": "bfloat16"}, ["2 bytes", "1"]),
    ({"dtype": "bfloat16"}, ["2 bytes", "1"]), ({"shape": [2, 4]}, ["(2, 4)", "(2, 3)"]),
    ({"shape": [2, 4], "dtype": "float8_e4m3fn"}, ["(2, 4)", "(2, 3)"])])
def test_a_sidecar_that_contradicts_the_header_is_an_error_and_no_bit_is_lost(mount, home, told, numbers):
    x = small("float8_e4m3fn")
    (home / "x.npz").write_bytes(archive([member("x.npy", npy(x)), member("x_meta.json", json.dumps(told).encode())]))
    m = mount(home / "x.npz", announced=["the sidecar"])
    (error,) = m.errors()
    assert all(number in error["what"] for number in numbers), error
    assert m.meta("x")["dtype"] == "|V1" and "float8_e4m3fn" in m.meta("x")["candidates"]
    assert (m.path / "x.raw").read_bytes() == x.tobytes() and (m.path / "x.npy").read_bytes() == npy(x)


def test_an_option_that_contradicts_the_item_size_is_an_error_and_no_bit_is_lost(mount, home):
    x = small("float8_e4m3fn")
    np.savez(home / "x.npz", x=x)
    m = mount(home / "x.npz", "--dtype", "x=bfloat16", announced=["bfloat16"])
    assert all(number in m.meta("x")["error"] for number in ("2 bytes", "1"))
    assert (m.path / "x.npy").read_bytes() == npy(x)


@pytest.mark.parametrize("separate", [".", "/"])
def test_scales_beside_weights_are_named_and_not_applied(npyfs, mount, home, separate):
    weight = every_code("float8_e4m3fn")
    scale, scalar = np.full((8, 1), 0.5, np.float32), np.float32(2)
    arrays = {"fp8.weight": weight, "fp8.weight_scale": scale, "deep.weight": weight, "deep.weight_scale_inv": scale,
              "nv.weight": weight, "nv.weight_scale": scale, "nv.weight_scale_2": scalar,
              "ct.weight_packed": weight, "ct.weight_scale": scale, "ct.weight_global_scale": scalar,
              "bare.weight": weight, "plain.weight": scale, "plain.weight_scale": scale}
    np.savez(home / "x.npz", **{name.replace(".", separate): array for name, array in arrays.items()})
    wanted = {"fp8.weight": ["fp8.weight_scale"], "deep.weight": ["deep.weight_scale_inv"],
              "nv.weight": ["nv.weight_scale", "nv.weight_scale_2"],
              "ct.weight_packed": ["ct.weight_scale", "ct.weight_global_scale"]}
    wanted = {name.replace(".", separate): [key.replace(".", separate) for key in keys]
              for name, keys in wanted.items()}
    types = [word for key in ("fp8", "deep", "nv", "ct", "bare") for word in ("--dtype", f"{key}?weight=float8_e4m3fn")]
    types += ["--dtype", "ct?weight_packed=float8_e4m3fn"]
    m = mount(home / "x.npz", *types)
    for name, entry in m.manifest().items():
        named = (False, wanted[name]) if name in wanted else (None, None)
        assert (entry.get("scales_applied"), entry.get("scales")) == named, name
    for name, keys in wanted.items():
        same_values(np.load(m.path / f"{name}.f32view.npy"), values(weight))
        text = npyfs.ok("info", *types, home / "x.npz", name)
        assert "not applied" in text and all(key in text for key in keys)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", EVERY_TYPE)
def test_a_structured_array_with_a_small_type_keeps_its_bytes(mount, home, name, order):
    dtype = np.dtype([("i", "<i4"), ("w", getattr(ml_dtypes, name)), ("pair", getattr(ml_dtypes, name), (2,))])
    x = np.resize(np.arange(251, dtype="u1"), 15 * dtype.itemsize).view(dtype).reshape(5, 3, order=order)
    (home / "model").mkdir()
    np.savez(home / "model/stored.npz", x=x)
    np.savez_compressed(home / "model/deflated.npz", x=x)
    (home / "model/pickled.pkl").write_bytes(pickle.dumps({"x": x}))
    m = mount(home / "model")
    for path in ("stored/x", "deflated/x", "pickled/x"):
        assert (m.path / f"{path}.raw").read_bytes() == c_bytes(x)
        codes = np.load(m.path / f"{path}.u8view.npy")
        assert codes.view(dtype).shape == x.shape and codes.tobytes() == c_bytes(x)
        fields = m.meta(path)["fields"]
        assert [field["name"] for field in fields] == ["i", "w", "pair"]
        assert [field["offset"] for field in fields] == [0, 4, 4 + x["w"].itemsize] and fields[2]["shape"] == [2]
        told = path == "pickled/x" or name in TOLD.values()
        assert {field["dtype"] for field in fields[1:]} == {name if told else f"|V{x['w'].itemsize}"}


def codes(dtype, order, shape=(8, 16, 2)):
    array = np.arange(256, dtype=np.uint8).reshape(shape).view(dtype)
    return np.asfortranarray(array) if order == "F" else array


def by_np_save(directory, x):
    np.save(directory / "x.npy", x)
    return directory / "x.npy"


def by_view(directory, x):
    np.save(directory / "x.npy", x.view("uint8"))
    return directory / "x.npy"


def by_tobytes_and_sidecar(directory, x):
    (directory / "saved").mkdir()
    (directory / "saved/x.npy").write_bytes(x.tobytes())
    (directory / "saved/x_meta.json").write_text(json.dumps({"shape": x.shape, "dtype": str(x.dtype)}))
    return directory / "saved"


def in_an_npz(directory, x):
    np.savez(directory / "x.npz", x=x)
    return directory / "x.npz"


def in_a_compressed_npz(directory, x):
    np.savez_compressed(directory / "x.npz", x=x)
    return directory / "x.npz"


PLAIN_READER = """
import sys, numpy as np
x, mapped = np.load(sys.argv[1]), np.load(sys.argv[1], mmap_mode="r")
assert x.dtype == np.uint8 and x.flags.c_contiguous, (x.dtype, x.flags)
assert isinstance(mapped, np.memmap) and np.array_equal(x, mapped)
assert not any("ml_dtypes" in name for name in sys.modules)
print(*x.shape)
print(x.tobytes().hex())
"""


@pytest.mark.parametrize("save", [by_np_save, by_view, by_tobytes_and_sidecar, in_an_npz, in_a_compressed_npz])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn], ids=["e5m2", "e4m3fn"])
def test_plain_numpy_gets_every_bit(mount, home, python, dtype, order, save):
    x = codes(dtype, order)
    m = mount(save(home, x))
    shape, bits = python(PLAIN_READER, m.path / "x.u8view.npy").splitlines()
    loaded = np.frombuffer(bytes.fromhex(bits), np.uint8).reshape(list(map(int, shape.split()))).view(dtype)
    assert loaded.shape == x.shape
    assert loaded.tobytes() == np.ascontiguousarray(x).tobytes()
    assert (m.path / "x.raw").read_bytes() == np.ascontiguousarray(x).tobytes()


def test_a_pickle_named_like_an_image_is_a_plain_file_and_not_run(mount, home):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(home / "trap"),)

    (home / "model").mkdir()
    np.array([Trap()], object).dump(home / "model/x.npy.pkl")
    m = mount(home / "model", announced=["mkdir"])
    mounting.tree(m.path)
    assert (m.path / "x.npy.pkl").read_bytes() == (home / "model/x.npy.pkl").read_bytes()
    assert not (home / "trap").exists()
