"""A tutorial's ways to save a model, replayed: read back through a mount, from another directory."""

import os
import subprocess
import sys

import numpy as np
import pytest

import mounting

# As in the tutorial: each array in a file of its own, and an index of the paths as the writer saw them.
SAVE_MODEL_SHARDED = """
import os, sys
import numpy as np

def save_model_sharded(weights, save_dir):
    os.makedirs(save_dir, exist_ok=True)
    index = {}
    for name, w in weights.items():
        path = os.path.join(save_dir, name + '.npy')
        np.save(path, w)
        index[name] = path
    np.savez(os.path.join(save_dir, 'index.npz'), **index)

def weights():
    random = np.random.default_rng(0)
    def filled(*shape):
        return random.standard_normal(shape, np.float32)
    return {
        'token_embedding': filled(50257, 768),
        'position_embedding': filled(1024, 768),
        'layer.0.attn.W_q': filled(768, 768),
        'layer.0.attn.W_k': np.asfortranarray(filled(768, 768)),
        'layer.0.mlp.W_in': filled(768, 3072),
        'ln_f.gamma': np.ones(768, np.float32),
    }

if __name__ == '__main__':
    save_model_sharded(weights(), sys.argv[1])
"""

LOAD_MODEL_SHARDED = """
import os, sys
import numpy as np

def load_model_sharded(save_dir):
    index = np.load(os.path.join(save_dir, 'index.npz'))
    return {name: np.load(str(path)) for name, path in index.items()}

loaded = load_model_sharded(sys.argv[1])
for name, w in loaded.items():
    print(name, w.dtype, *w.shape, int(np.ascontiguousarray(w).view(np.uint32).sum(dtype=np.uint64)))
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The directory where the tutorial's writer ran; it wrote model_sharded/."""
    place = tmp_path_factory.mktemp("writer")
    subprocess.run([sys.executable, "-c", SAVE_MODEL_SHARDED, "model_sharded"], cwd=place, check=True, timeout=250)
    return place


@pytest.fixture(scope="module")
def weights():
    names = {}
    exec(compile(SAVE_MODEL_SHARDED, "tutorial", "exec"), names)  # our own text, above
    return names["weights"]()


def test_mounted_alone_it_shows_every_array_at_the_root(mount, written, weights, home):
    os.symlink(written / "model_sharded", home / "moved")
    m = mount(home / "moved")
    assert sorted(m.manifest()) == sorted(weights)
    assert "index.npz" not in os.listdir(m.path) and len(os.listdir(m.path)) == 4 * len(weights)
    for name, w in weights.items():
        assert np.array_equal(np.load(m.path / f"{name}.npy", mmap_mode="r"), w), name
        assert np.array_equal(np.fromfile(m.path / f"{name}.raw", "<f4").reshape(w.shape), w), name
    assert m.errors() == []


def test_one_row_without_the_rest(mount, written, weights):
    m = mount(written / "model_sharded")
    row = subprocess.run(["dd", f"if={m.path}/token_embedding.raw", "bs=3072", "skip=100", "count=1", "status=none"],
                         check=True, capture_output=True).stdout
    assert row == weights["token_embedding"][100].tobytes()
    assert m.stats()["bytes"] < 10_000_000


def test_the_loader_works_in_a_mount_of_the_parent(mount, python, written, weights):
    m = mount(written)
    lines = python(LOAD_MODEL_SHARDED, "model_sharded", cwd=m.path).splitlines()
    for line, (name, w) in zip(lines, weights.items(), strict=True):
        checksum = int(np.ascontiguousarray(w).view(np.uint32).sum(dtype=np.uint64))
        assert line == " ".join(map(str, (name, w.dtype, *w.shape, checksum)))


def test_one_chunk_after_another_into_one_handle(mount, home):
    array = np.random.default_rng(1).standard_normal((1000, 96))
    with open(home / "large.npy", "wb") as file:
        for i in range(0, len(array), 128):
            np.save(file, array[i:i + 128])
    m = mount(home / "large.npy")
    assert np.array_equal(np.load(m.path / "large.concat.npy", mmap_mode="r"), array)
    assert np.array_equal(np.load(m.path / "large.npy"), array[:128]), "as np.load sees the file itself"
    assert np.array_equal(np.load(m.path / "large.parts/7.npy"), array[896:])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_by_keyword_and_by_position(mount, home, save):
    first, second = np.arange(10), np.eye(3)
    save(home / "x.npz", first, second, bias=first)
    m = mount(home / "x.npz")
    assert list(m.manifest()) == ["bias", "arr_0", "arr_1"]
    assert np.array_equal(np.load(m.path / "arr_1.npy"), second)


def test_a_dictionary_saved_as_an_object_array(mount, home):
    np.save(home / "model.npy", {"w": np.eye(3)})
    m = mount(home / "model.npy")
    assert m.meta("model")["pickled"] is True
    assert np.array_equal(np.load(m.path / "model.npy", allow_pickle=True).item()["w"], np.eye(3))
    assert mounting.errno_name(open, m.path / "model.raw") == "ENOENT"
