"""Arrays inside pickles: files written with pickle.dump, and arrays of objects. Nothing is ever run."""

import contextlib
import gzip
import itertools
import json
import os
import pickle
import random
import resource
import struct
import subprocess
import zlib

import ml_dtypes
import numpy as np
import pytest

from npycraft import c_bytes, npy, numpy_1_names
from zipcraft import archive, member

GRID = np.arange(24, dtype="<f4").reshape(4, 6)
STATE = {
    "model": {"w": GRID, "bias": np.arange(3, dtype=">i2"), "f": np.asfortranarray(GRID)},
    "layers": [GRID + 1, (GRID + 2, "text")],
    "bf16": np.arange(5).astype(ml_dtypes.bfloat16),
    "fp8": np.arange(5).astype(ml_dtypes.float8_e4m3fn),
    "struct": np.array([(1, 2.5), (3, -1.0)], "i1, <f8"),
    "high bytes": np.arange(256, dtype="u1"),
    "lr": np.float64(0.5), "epoch": 3, "name": "run",
}
WANTED = {
    "model/w": STATE["model"]["w"], "model/bias": STATE["model"]["bias"], "model/f": STATE["model"]["f"],
    "layers/0": STATE["layers"][0], "layers/1/0": STATE["layers"][1][0], "bf16": STATE["bf16"],
    "fp8": STATE["fp8"], "struct": STATE["struct"], "high bytes": STATE["high bytes"], "lr": STATE["lr"],
}


class Trap:
    """Runs a command when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def dump(path, value, protocol=pickle.DEFAULT_PROTOCOL):
    path.write_bytes(pickle.dumps(value, protocol))
    return path


def expect(m, prefix, wanted):
    """Every array is there with its bytes, its shape and its type, and no other is."""
    assert sorted(m.manifest()) == sorted(f"{prefix}{name}" for name in wanted)
    for name, array in wanted.items():
        array = np.asarray(array)
        path = m.path / f"{prefix}{name}"
        assert path.with_name(path.name + ".raw").read_bytes() == c_bytes(array), name
        meta = m.meta(f"{prefix}{name}")
        assert meta["shape"] == list(array.shape), name
        loaded = np.load(path.with_name(path.name + ".npy"))
        assert loaded.shape == array.shape and loaded.tobytes() == array.tobytes(), name
        if array.dtype.kind != "V":
            assert loaded.dtype == array.dtype, name


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("numpy", [1, 2])
def test_a_dictionary_of_arrays_as_source(mount, home, monkeypatch, numpy, protocol):
    with numpy_1_names(monkeypatch) if numpy == 1 else contextlib.nullcontext():
        dump(home / "state.pkl", STATE, protocol)
    assert (b"numpy._core" in (home / "state.pkl").read_bytes()) == (numpy == 2)
    expect(mount(home / "state.pkl"), "", WANTED)


@pytest.mark.parametrize("protocol", range(6))
def test_any_piece_of_a_large_array(mount, home, protocol):
    """In place from protocol 3 on; before that bytes are text that is decoded on read."""
    x = np.random.default_rng(5).integers(0, 256, (300, 1024), np.uint8).view("<f4")
    m = mount(dump(home / "state.pkl", {"x": x, "f": np.asfortranarray(x)}, protocol))
    source, content = random.Random(5), x.tobytes()
    for name in ("x", "f"):
        with open(m.path / f"{name}.raw", "rb", buffering=0) as file:
            for at in source.sample(range(len(content)), 15):
                length = source.choice([1, 7, 4096, 70_000])
                assert os.pread(file.fileno(), length, at) == content[at:at + length], (name, at, length)
        assert (m.path / f"{name}.raw").read_bytes() == content
    stored = m.manifest()["x"]["source"]["stored_bytes"]
    assert stored == x.nbytes if protocol >= 3 else stored > x.nbytes


def test_the_types_that_a_pickle_knows_are_known(mount, home):
    m = mount(dump(home / "state.pkl", STATE))
    assert (m.meta("bf16")["dtype"], m.meta("bf16")["dtype_from"]) == ("bfloat16", "container")
    assert m.meta("fp8")["dtype"] == "float8_e4m3fn"
    for name in ("bf16", "fp8"):
        assert np.array_equal(np.load(m.path / f"{name}.f32view.npy"), STATE[name].astype("f4"))


@pytest.mark.parametrize("protocol", range(6))
def test_transposed_arrays_have_their_own_axes(mount, home, protocol):
    """From protocol 5 on NumPy 2.3 writes the elements in the order of memory, and how the axes were turned."""
    images = np.random.default_rng(6).integers(0, 256, (4, 90, 70, 3), np.uint8)
    state = {"".join(map(str, axes)): images.transpose(axes) for axes in itertools.permutations(range(4))}
    state["bf16"] = np.arange(24).reshape(2, 3, 4).astype(ml_dtypes.bfloat16).transpose(1, 2, 0)
    m = mount(dump(home / "state.pkl", state, protocol))
    expect(m, "", state)
    assert np.array_equal(np.load(m.path / "bf16.f32view.npy"), state["bf16"].astype("f4"))
    assert np.array_equal(np.load(m.path / "0312.npy", mmap_mode="r"), state["0312"])


@pytest.mark.parametrize("protocol", range(6))
def test_a_masked_array_has_its_mask_below_it(mount, home, protocol):
    masked = np.ma.array(np.asfortranarray(GRID), mask=GRID % 3 == 0)
    m = mount(dump(home / "state.pkl", {"x": masked, "struct": np.ma.array([(1, 2.0)], "i4, f8")}, protocol))
    expect(m, "", {"x": masked.data, "x/mask": masked.mask, "struct": np.array([(1, 2.0)], "i4, f8")})
    assert np.array_equal(np.load(m.path / "x/mask.npy"), masked.mask)
    assert any("struct: the mask" in note for note in m.meta("x")["notes"])


def test_a_type_of_very_many_fields(npyfs, home):
    """Each is looked up among all of them, which may not take as long as comparing all with all."""
    wide = np.zeros(2, [(f"field {i}", "u1") for i in range(90_000)])
    listed = json.loads(npyfs.ok("ls", "--json", dump(home / "wide.pkl", wide), preexec_fn=little_time))
    assert listed[0]["fields"][-1] == {"name": "field 89999", "dtype": "uint8", "descr": "|u1", "offset": 89_999}


def test_one_array_as_source_has_the_files_name(mount, home):
    expect(mount(dump(home / "weights.npy.pkl", GRID)), "", {"weights": GRID})


def test_in_a_directory_pickles_become_directories(mount, home):
    (home / "model").mkdir()
    dump(home / "model/state.pkl", STATE)
    dump(home / "model/one.npy.pkl", GRID)
    dump(home / "model/words.pkl", {"a": 1})
    m = mount(home / "model")
    expect(m, "", {f"state/{name}": array for name, array in WANTED.items()} | {"one": GRID})
    assert sorted(os.listdir(m.path)) == ["one.meta.json", "one.npy", "one.raw", "one.u8view.npy", "state",
                                          "words.pkl"]
    for name in ("state.pkl", "one.npy.pkl", "words.pkl"):  # not listed, but there
        assert (m.path / name).read_bytes() == (home / "model" / name).read_bytes()


def test_a_real_name_comes_before_what_is_found_in_a_pickle(mount, home):
    (home / "model/state").mkdir(parents=True)
    (home / "model/state/x.txt").write_text("real")
    dump(home / "model/state.pkl", {"w": GRID})
    m = mount(home / "model")
    assert (m.path / "state/x.txt").read_text() == "real"
    assert np.array_equal(np.load(m.path / "state~2/w.npy"), GRID)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_array_of_objects_shows_the_arrays_in_it(mount, home, save):
    params = np.empty(3, object)
    params[:] = [GRID, {"b": GRID * 2}, "text"]
    save(home / "x.npz", params=params, plain=GRID)
    m = mount(home / "x.npz")
    assert sorted(m.manifest()) == ["params", "params/0", "params/1/b", "plain"]
    assert np.array_equal(np.load(m.path / "params/0.npy"), GRID)
    assert np.array_equal(np.load(m.path / "params/1/b.npy", mmap_mode="r"), GRID * 2)
    assert m.meta("params")["pickled"] is True
    assert np.load(m.path / "params.npy", allow_pickle=True)[2] == "text"
    assert m.errors() == []


def test_a_structure_of_objects_shows_the_arrays_in_its_fields(mount, home):
    """As scipy.io.loadmat gives a MATLAB struct."""
    struct = np.empty((1, 2), [("weights", "O"), ("epoch", "<i4"), ("more", "O")])
    struct[0, 0] = GRID, 3, {"b": GRID * 2}
    struct[0, 1] = "text", 4, None
    np.savez(home / "x.npz", s=struct)
    m = mount(home / "x.npz", announced=["fields with objects"])
    assert sorted(m.manifest()) == ["s", "s/0/0/more/b", "s/0/0/weights"]
    assert np.array_equal(np.load(m.path / "s/0/0/weights.npy"), GRID)
    assert np.array_equal(np.load(m.path / "s/0/0/more/b.npy"), GRID * 2)


def test_members_of_an_archive_that_are_pickles(mount, home):
    (home / "x.npz").write_bytes(archive([member("a.npy", npy(GRID)),
                                          member("state.pkl", pickle.dumps({"w": GRID}))]))
    m = mount(home / "x.npz")
    assert sorted(m.manifest()) == ["a", "state/w"]
    assert np.array_equal(np.load(m.path / "state/w.npy"), GRID)
    assert (m.path / "state.pkl").exists()


@pytest.mark.parametrize("module", [b"numpy.core.multiarray", b"numpy._core.multiarray"], ids=["NumPy 1", "NumPy 2"])
def test_both_numpys_write_other_module_names(mount, home, module):
    dumped = pickle.dumps({"w": GRID}, 2)
    for name in (b"numpy._core.multiarray", b"numpy.core.multiarray"):
        dumped = dumped.replace(b"c" + name + b"\n", b"c" + module + b"\n")
    assert module in dumped
    (home / "old.pkl").write_bytes(dumped)
    expect(mount(home / "old.pkl"), "", {"w": GRID})


def test_what_the_distributions_numpy_pickles(mount, home):
    if not os.path.exists("/usr/lib/python3/dist-packages/numpy"):
        pytest.fail("python3-numpy is not installed")
    subprocess.run(["/usr/bin/python3", "-c", "import numpy, pickle, sys; pickle.dump({'w': "
                    "numpy.arange(24, dtype='<f4').reshape(4, 6)}, open(sys.argv[1], 'wb'), 2)", home / "old.pkl"],
                   check=True)
    expect(mount(home / "old.pkl"), "", {"w": GRID})


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value


# Every way for a pickle to call something, written out: TRAP is the text of a path.
HOSTILE = {
    "REDUCE": (b"cposix\nmkdir\nTRAP\x85R", "posix.mkdir"),
    "STACK_GLOBAL": (b"\x8c\5posix\x8c\5mkdir\x93TRAP\x85R", "posix.mkdir"),
    "INST": (b"(TRAPiposix\nmkdir\n", "posix.mkdir"),
    "OBJ": (b"(cposix\nmkdir\nTRAPo", "posix.mkdir"),
    "NEWOBJ": (b"cposix\nmkdir\nTRAP\x85\x81", "posix.mkdir"),
    "NEWOBJ_EX": (b"cposix\nmkdir\nTRAP\x85}\x92", "posix.mkdir"),
    "BUILD": (b"cos\nPathLike\n)\x81}X\1\0\0\0pTRAPsb", "os.PathLike"),
    "APPEND": (b"csubprocess\nPopen\n)RTRAPa", "subprocess.Popen"),
    "SETITEM": (b"csubprocess\nPopen\n)RTRAPTRAPs", "subprocess.Popen"),
    "PERSID": (b"Pposix.mkdir\n", "outside the pickle"),
    "BINPERSID": (b"TRAPQ", "outside the pickle"),
    "eval": (b"c__builtin__\neval\n" + text(b"__import__('os').mkdir('trap')") + b"\x85R", "__builtin__.eval"),
    "getattr": (b"c__builtin__\ngetattr\ncos\nsystem\n" + text(b"__call__") + b"\x86RTRAP\x85R", "an object of"),
    "runstring": (b"cnumpy.testing._private.utils\nrunstring\nTRAP}\x86R", "runstring"),
    "numpy.load": (b"cnumpy\nload\nTRAP\x85R", "numpy.load"),
    "as a type": (b"cnumpy.core.multiarray\nscalar\ncposix\nmkdir\nTRAP\x85RC\1x\x86R", "no numpy.dtype"),
    "as a shape": (b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\1b\x87R(K\1cposix\nmkdir\n"
                   b"TRAP\x85Rcnumpy\ndtype\nX\2\0\0\0f4\x89\x88\x87R\x89C\4abcdtb", "a shape"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_leave_no_trace_and_hide_nothing(mount, home, name):
    code, note = HOSTILE[name]
    trap = home / "trap"
    grid = pickle.dumps(GRID, 2)[2:-1]
    evil = code.replace(b"TRAP", text(os.fsencode(trap)))
    (home / "x.pkl").write_bytes(b"\x80\4}(" + text(b"e") + evil + text(b"w") + grid
                                 + text(b"last") + evil + text(b"v") + grid + b"u.")
    m = mount(home / "x.pkl", cwd=home)
    expect(m, "", {"w": GRID, "v": GRID})
    for key in ("e", "last"):
        assert any(remark.startswith(f"{key}: ") and note in remark for remark in m.meta("w")["notes"]), m.meta("w")
    assert sorted(os.listdir(home)) == ["mnt0", "scratch", "x.pkl"]


def test_what_python_itself_would_run_is_not_run(mount, home):
    trap = home / "trap"
    for protocol in range(6):
        (home / "model").mkdir(exist_ok=True)
        dump(home / f"model/p{protocol}.pkl", {"evil": Trap(trap), "w": GRID, "last": [Trap(trap)]}, protocol)
    m = mount(home / "model")
    expect(m, "", {f"p{protocol}/w": GRID for protocol in range(6)})
    assert all(any("mkdir" in note for note in m.meta(f"p{protocol}/w")["notes"]) for protocol in range(6))
    assert not trap.exists()
    pickle.loads(pickle.dumps(Trap(trap)))
    assert trap.exists(), "the trap is none"


LIMITS = {
    "deep": (b"\x80\4" + b"]" * 900_000 + b"a" * 899_999 + b".", "100 objects deep"),
    "array far below": (b"\x80\4" + pickle.dumps(GRID, 2)[2:-1] + b"\x85" * 3_000_000 + b".", "100 objects deep"),
    "memo": (b"\x80\4Nr\xff\xff\xff\xff.", "memo number 4294967295 is beyond 4194304"),
    "stack": (b"\x80\4" + b"N" * 3_000_000 + b".", "more than 1048576 values on the stack"),
    "marks": (b"\x80\4" + b"(" * 3_000_000 + b".", "more than 1048576 marks"),
    "values": (b"\x80\4]" + b"J\0\0\0\0a" * 9_000_000 + b".", "more than 8388608"),
    "copies": (b"\x80\4(" + (b"T\0\x10\0\0" + bytes(4096) + b"0") * 17_000 + b"t.", "more than 67108864"),
    "length": (b"\x80\4\x8e" + b"\xff" * 8 + b".", "18446744073709551615 bytes run past"),
    "frame": (b"\x80\4\x95" + b"\xff" * 8 + b"N.", "no NumPy array"),
    "number": (b"\x80\4\x8b\x40\x4b\x4c\0" + b"\x7f" * 5_000_000 + b".", "no NumPy array"),
    "digits": (b"L" + b"7" * 5_000_000 + b"L\n.", "no end of line within"),
    "protocol": (b"\x80\6N.", "protocol 6"),
    "registry": (b"\x80\4\x82\1.", "extension registry"),
    "buffer": (b"\x80\5\x97.", "buffer that isn't in the pickle"),
}


def little_time():
    """Of a processor: it takes a third of a second, 4 with AddressSanitizer, and was 18 when all were compared."""
    resource.setrlimit(resource.RLIMIT_CPU, (12, 12))


def little_memory():
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


@pytest.mark.plain_build
@pytest.mark.parametrize("name", LIMITS)
def test_what_is_beyond_a_limit_is_refused_at_once_and_in_little_memory(npyfs, home, name):
    content, words = LIMITS[name]
    (home / "x.pkl").write_bytes(content)
    message = npyfs.refused("ls", home / "x.pkl", preexec_fn=little_memory)
    assert words in message and len(message.splitlines()) == 1 and len(message) < 1000, message


def test_more_paths_than_memory_could_hold_lead_to_an_array_that_is_shown(npyfs, home):
    list_of_ten = b"0](" + b"h\x50" * 10 + b"eq\x50"
    (home / "x.pkl").write_bytes(b"\x80\4" + pickle.dumps(GRID, 2)[2:-1] + b"q\x50" + list_of_ten * 60 + b".")
    listed = npyfs.ok("ls", home / "x.pkl").splitlines()
    assert "/".join("0" * 60) in listed and len(listed) == 10


@pytest.mark.parametrize("content, words", [
    (b"\x80\x04.", ["pickle"]), (b"\x80\x04N.", ["no NumPy array"]), (b"\x80\x04\x8c", ["x.pkl"]),
    (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", ["x.pkl"])])
def test_a_source_without_arrays_is_refused(npyfs, home, content, words):
    (home / "x.pkl").write_bytes(content)
    message = npyfs.refused("ls", home / "x.pkl", status=1)
    assert all(word in message for word in words), message


JOBLIB = (b"\x80\4\x95\0\0\0\0\0\0\0\0\x8c\x13joblib.numpy_pickle\x8c\x11NumpyArrayWrapper\x93)\x81}("
          b"\x8c\5shapeK\3\x85ub\6\xff\xff\xff\xff\xff\xffabc.")
NO_PICKLES = {
    "gzip": (gzip.compress(pickle.dumps({"w": GRID})), ["no pickle but a gzip file; decompress it first"]),
    "zlib": (zlib.compress(pickle.dumps({"w": GRID})), ["no pickle but zlib-compressed data; decompress it first"]),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123456\n", ["123456", "git lfs"]),
    "page": (b"<!DOCTYPE html><html>", ["an HTML page"]),
    "empty": (b"", ["an empty file"]),
    "joblib": (JOBLIB, ["joblib's bytes of an array follow", "pickle.dump"]),
    "cut": (pickle.dumps(STATE)[:-40], ["bytes too early"]),
}


@pytest.mark.parametrize("name", NO_PICKLES)
def test_what_is_only_named_like_a_pickle_is_called_by_its_name(mount, npyfs, home, name):
    content, words = NO_PICKLES[name]
    (home / "model").mkdir()
    (home / "model/x.pkl").write_bytes(content)
    message = npyfs.refused("ls", home / "model/x.pkl", status=1)
    assert all(word in message for word in words), message
    assert len(message.splitlines()) == 1 and message.count("x.pkl") == 1, message
    m = mount(home / "model", announced=["x.pkl"])
    assert all(word in m.errors()[0]["what"] for word in words)
    assert (m.path / "x.pkl").read_bytes() == content


def test_an_archive_that_is_named_like_a_pickle(mount, home):
    np.savez(home / "x.npz", a=GRID)
    (home / "x.npz").rename(home / "x.pkl")
    expect(mount(home / "x.pkl"), "", {"a": GRID})


def test_a_broken_pickle_among_others_is_a_plain_file(mount, home):
    (home / "model").mkdir()
    (home / "model/cut.pkl").write_bytes(pickle.dumps(STATE)[:-40])
    dump(home / "model/good.pkl", {"w": GRID})
    m = mount(home / "model", announced=["cut.pkl"])
    assert sorted(m.manifest()) == ["good/w"]
    assert (m.path / "cut.pkl").stat().st_size == (home / "model/cut.pkl").stat().st_size
    assert [error["where"] for error in m.errors()] == ["cut.pkl"]
