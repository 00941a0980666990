"""Arrays inside pickles: files written with pickle.dump, and arrays of objects. Nothing is ever run."""

import os
import pickle
import subprocess

import ml_dtypes
import numpy as np
import pytest

from npycraft import c_bytes, npy
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
def test_a_dictionary_of_arrays_as_source(mount, home, protocol):
    expect(mount(dump(home / "state.pkl", STATE, protocol)), "", WANTED)


def test_the_types_that_a_pickle_knows_are_known(mount, home):
    m = mount(dump(home / "state.pkl", STATE))
    assert (m.meta("bf16")["dtype"], m.meta("bf16")["dtype_from"]) == ("bfloat16", "container")
    assert m.meta("fp8")["dtype"] == "float8_e4m3fn"
    for name in ("bf16", "fp8"):
        assert np.array_equal(np.load(m.path / f"{name}.f32view.npy"), STATE[name].astype("f4"))


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


def test_members_of_an_archive_that_are_pickles(mount, home):
    (home / "x.npz").write_bytes(archive([member("a.npy", npy(GRID)),
                                          member("state.pkl", pickle.dumps({"w": GRID}))]))
    m = mount(home / "x.npz")
    assert sorted(m.manifest()) == ["a", "state/w"]
    assert np.array_equal(np.load(m.path / "state/w.npy"), GRID)
    assert (m.path / "state.pkl").exists()


def test_debian_numpy_writes_other_module_names(mount, home):
    if not os.path.exists("/usr/lib/python3/dist-packages/numpy"):
        pytest.fail("python3-numpy is not installed")
    subprocess.run(["/usr/bin/python3", "-c", "import numpy, pickle, sys; pickle.dump({'w': "
                    "numpy.arange(24, dtype='<f4').reshape(4, 6)}, open(sys.argv[1], 'wb'), 2)", home / "old.pkl"],
                   check=True)
    assert b"numpy.core.multiarray" in (home / "old.pkl").read_bytes()
    expect(mount(home / "old.pkl"), "", {"w": GRID})


def test_hostile_pickles_leave_no_trace_and_hide_nothing(mount, home):
    trap = home / "trap"
    m = mount(dump(home / "state.pkl", {"evil": Trap(trap), "w": GRID, "last": [Trap(trap)]}))
    expect(m, "", {"w": GRID})
    assert any("mkdir" in note for note in m.meta("w")["notes"])
    assert not trap.exists()


@pytest.mark.parametrize("content, words", [
    (b"\x80\x04.", ["pickle"]), (b"\x80\x04N.", ["no NumPy array"]), (b"\x80\x04\x8c", ["x.pkl"]),
    (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", ["x.pkl"])])
def test_a_source_without_arrays_is_refused(npyfs, home, content, words):
    (home / "x.pkl").write_bytes(content)
    message = npyfs.refused("ls", home / "x.pkl", status=1)
    assert all(word in message for word in words), message


def test_a_broken_pickle_among_others_is_a_plain_file(mount, home):
    (home / "model").mkdir()
    (home / "model/cut.pkl").write_bytes(pickle.dumps(STATE)[:-40])
    dump(home / "model/good.pkl", {"w": GRID})
    m = mount(home / "model", announced=["cut.pkl"])
    assert sorted(m.manifest()) == ["good/w"]
    assert (m.path / "cut.pkl").stat().st_size == (home / "model/cut.pkl").stat().st_size
    assert [error["where"] for error in m.errors()] == ["cut.pkl"]
