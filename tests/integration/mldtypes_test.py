"""Eight-bit floats saved the four ways people save them, read back by plain NumPy."""

import json
import os

import ml_dtypes
import numpy as np
import pytest

import mounting

TYPES = [ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn]
EVERY_TYPE = [name for name in ("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
                                "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
                                "float6_e3m2fn", "float4_e2m1fn", "int2", "int4", "uint2", "uint4")
              if hasattr(ml_dtypes, name)]


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
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
def test_plain_numpy_gets_every_bit(mount, home, python, dtype, order, save):
    x = codes(dtype, order)
    m = mount(save(home, x))
    shape, bits = python(PLAIN_READER, m.path / "x.u8view.npy").splitlines()
    loaded = np.frombuffer(bytes.fromhex(bits), np.uint8).reshape(list(map(int, shape.split()))).view(dtype)
    assert loaded.shape == x.shape
    assert loaded.tobytes() == np.ascontiguousarray(x).tobytes()
    assert (m.path / "x.raw").read_bytes() == np.ascontiguousarray(x).tobytes()


@pytest.mark.parametrize("name", EVERY_TYPE)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_comes_back_from_its_byte_view(mount, home, name, order):
    dtype = np.dtype(getattr(ml_dtypes, name))
    x = np.arange(256 * dtype.itemsize, dtype=np.uint8).view(dtype).reshape(16, 16)
    x = np.asfortranarray(x) if order == "F" else x
    np.savez(home / "x.npz", x=x, scalar=x[3, 5], empty=x[:0])
    m = mount(home / "x.npz", "--dtype", f"*={name}")
    for key, array in (("x", x), ("scalar", x[3, 5]), ("empty", x[:0])):
        array = np.asarray(array)
        loaded = np.load(m.path / f"{key}.u8view.npy").view(dtype)
        assert loaded.shape == (array.shape or (1,)) and loaded.tobytes() == np.ascontiguousarray(array).tobytes()
        assert m.meta(key)["dtype"] == name and m.meta(key)["itemsize"] == dtype.itemsize
        assert np.dtype(getattr(ml_dtypes, m.meta(key)["dtype"])) == dtype


@pytest.mark.parametrize("name", EVERY_TYPE)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_values_of_every_code_as_float32(mount, home, name, order, save):
    dtype = np.dtype(getattr(ml_dtypes, name))
    count = 256 if dtype.itemsize == 1 else 65_536
    x = np.arange(count, dtype=f"<u{dtype.itemsize}").view(dtype).reshape(count // 32, 16, 2)
    x = np.asfortranarray(x) if order == "F" else x
    save(home / "x.npz", x=x, scalar=x[3, 5, 1], empty=x[:0])
    m = mount(home / "x.npz", "--dtype", f"*={name}")
    assert "x.f32view.npy" not in os.listdir(m.path)
    # Unused high bits count for nothing; ml_dtypes takes those of its floats below a byte for a sign.
    used = {"float6": 0x3F, "float4": 0x0F}.get(name[:6])
    codes = np.ascontiguousarray(x)
    with np.errstate(invalid="ignore"):
        wanted = ((codes.view("u1") & used).view(dtype) if used else codes).astype("<f4")
    for mode in (None, "r"):
        values = np.load(m.path / "x.f32view.npy", mmap_mode=mode)
        assert values.dtype == "<f4" and values.shape == x.shape and values.flags.c_contiguous
        assert np.array_equal(np.isnan(values), np.isnan(wanted))
        sound = ~np.isnan(wanted)
        assert np.array_equal(values[sound].view("<u4"), wanted[sound].view("<u4")), "not the same bits"
    whole = (m.path / "x.f32view.npy").read_bytes()
    assert m.meta("x")["files"]["f32view.npy"] == len(whole)
    with open(m.path / "x.f32view.npy", "rb", buffering=0) as file:
        for at in (0, 1, 127, 129, 131, len(whole) - 1):
            assert os.pread(file.fileno(), 7, at) == whole[at:at + 7]
    assert np.load(m.path / "scalar.f32view.npy").shape == () and np.load(m.path / "empty.f32view.npy").size == 0


def test_the_type_is_told_as_far_as_the_header_goes(mount, home):
    x = codes(ml_dtypes.float8_e5m2, "C")
    np.savez(home / "x.npz", e5m2=x, e4m3=x.view(ml_dtypes.float8_e4m3fn), bf16=x.view(ml_dtypes.bfloat16))
    manifest = mount(home / "x.npz").manifest()
    assert (manifest["e5m2"]["dtype"], manifest["e5m2"]["descr"]) == ("float8_e5m2", "<f1")
    assert (manifest["bf16"]["dtype"], manifest["bf16"]["descr"]) == ("bfloat16", "<V2")
    assert manifest["e4m3"]["dtype"] in (None, "|V1") and "float8_e4m3fn" in manifest["e4m3"]["candidates"]
    assert {entry["dtype_from"] for entry in manifest.values()} == {"header"}


def test_a_structured_array_with_a_small_float_keeps_its_bytes(mount, home):
    x = np.zeros(3, [("w", ml_dtypes.bfloat16), ("i", "<i4")])
    x["w"] = [1, 2, 3]
    np.save(home / "x.npy", x)
    m = mount(home / "x.npy")
    assert (m.path / "x.raw").read_bytes() == x.tobytes()
    assert [field["dtype"] for field in m.meta("x")["fields"]] == ["bfloat16", "int32"]


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
