"""A directory as the source: loose arrays, archives, sidecars, links, and what can't be shown."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

import mounting
from npycraft import c_bytes, npy
from zipcraft import archive, member

A, B = np.arange(6, dtype="<f4").reshape(2, 3), np.arange(5, dtype="<i8")
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123456\n"
VIEWS = ("npy", "raw", "u8view.npy", "meta.json")


def views(*names):
    return {f"{name}.{view}" for name in names for view in VIEWS}


@pytest.fixture
def model(home):
    path = home / "model"
    path.mkdir()
    return path


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def where_errors(m):
    return {error["where"]: error["errno"] for error in m.errors()}


def test_loose_arrays_archives_other_files_and_subdirectories(mount, model):
    write(model / "tok.npy", npy(A))
    write(model / "config.json", b"{}")
    write(model / "sub/deeper/b.npy", npy(B))
    np.savez_compressed(model / "weights.npz", a=A, **{"x/b": B})
    os.mkdir(model / "empty")
    m = mount(model)
    assert set(os.listdir(m.path)) == views("tok") | {"config.json", "sub", "weights", "empty"}
    assert set(os.listdir(m.path / "weights")) == views("a") | {"x"}
    assert set(os.listdir(m.path / "sub/deeper")) == views("b")
    assert os.listdir(m.path / "empty") == []
    assert (m.path / "tok.npy").read_bytes() == npy(A) and (m.path / "tok.raw").read_bytes() == A.tobytes()
    assert (m.path / "config.json").read_bytes() == b"{}"
    assert np.array_equal(np.load(m.path / "weights/x/b.npy"), B)
    assert m.errors() == []


def test_what_was_taken_apart_is_there_by_name(mount, model):
    np.savez(model / "weights.npz", a=A)
    np.savez(model / "index.npz", key="model/shards/part.npy", other="model/tok.npy")
    write(model / "shards/part.npy", npy(A))
    write(model / "tok.npy", npy(B))
    m = mount(model)
    for name in ("weights.npz", "index.npz", "shards/part.npy", "tok.npy"):
        assert (m.path / name).read_bytes() == (model / name).read_bytes(), name
    assert not {"weights.npz", "index.npz"} & set(os.listdir(m.path))
    assert os.listdir(m.path / "shards") == []
    assert np.array_equal(np.load(m.path / "index.npz")["key"], "model/shards/part.npy")


def test_the_manifest_names_the_files(mount, model):
    write(model / "sub/tok.npy", npy(A))
    np.savez(model / "w.npz", a=A)
    manifest = mount(model).manifest()
    source = manifest["sub/tok"]["source"]
    assert source["file"] == "sub/tok.npy" and source["offset"] == 0 and source["stored_bytes"] == len(npy(A))
    source = manifest["w/a"]["source"]
    assert source["file"] == "w.npz" and source["member"] == "a.npy"
    assert (model / "w.npz").read_bytes()[source["offset"]:].startswith(npy(A))


# What an index may say, for a file that lies at shards/w.npy of the mounted directory.
@pytest.mark.parametrize("said", [
    "shards/w.npy", "model/shards/w.npy", "runs/1/model/shards/w.npy", "./model//shards/./w.npy",
    "/nowhere/run1/model/shards/w.npy", "C:\\runs\\model\\shards\\w.npy", "model\\shards\\w.npy", "HERE/shards/w.npy",
])
@pytest.mark.parametrize("kind", [np.str_, np.bytes_])
def test_an_index_leads_to_its_shards_wherever_they_were_moved(mount, model, said, kind):
    write(model / "shards/w.npy", npy(A))
    np.savez(model / "index.npz", **{"layer.0.w": kind(said.replace("HERE", str(model)))})
    m = mount(model)
    assert set(os.listdir(m.path)) == views("layer.0.w") | {"shards"}
    assert np.array_equal(np.load(m.path / "layer.0.w.npy"), A)
    (entry,) = m.manifest().values()
    assert entry["name"] == "layer.0.w" and entry["source"]["file"] == "shards/w.npy"
    assert m.errors() == []


def test_the_longest_suffix_of_an_index_path_counts(mount, model):
    write(model / "a/w.npy", npy(A))
    write(model / "b/w.npy", npy(B))
    np.savez(model / "index.npz", first="/old/place/a/w.npy", second="/old/place/b/w.npy")
    m = mount(model)
    assert np.array_equal(np.load(m.path / "first.npy"), A) and np.array_equal(np.load(m.path / "second.npy"), B)


def test_the_key_is_the_last_resort(mount, model):
    write(model / "w.npy", npy(A))
    np.savez(model / "index.npz", w="somewhere/else.npy")
    m = mount(model)
    assert set(os.listdir(m.path)) == views("w")
    assert m.errors() == []


@pytest.mark.parametrize("said", ["../../etc/passwd", "/etc/passwd", "../outside.npy", "shards/../../outside.npy", "",
                                  "."])
def test_an_index_never_leads_out(mount, model, said):
    write(model.parent / "outside.npy", npy(A))
    write(model / "shards/x.npy", npy(B))
    np.savez(model / "index.npz", lost=said)
    m = mount(model, announced=["lost"])
    assert not (m.path / "lost.npy").exists()
    assert "lost" not in m.manifest()
    (error,) = m.errors()
    assert error["errno"] == "ENOENT" and "lost" in error["where"] + error["what"]
    assert np.array_equal(np.load(m.path / "shards/x.npy"), B), "what no index names is shown as without one"


def test_missing_shards_are_reported_and_the_rest_is_there(mount, npyfs, model):
    write(model / "w.npy", npy(A))
    np.savez(model / "index.npz", w="model/w.npy", gone="model/gone.npy")
    m = mount(model, announced=["gone"])
    assert list(m.manifest()) == ["w"]
    assert [error["errno"] for error in m.errors()] == ["ENOENT"] and "gone" in m.errors()[0]["where"]
    listed = npyfs.ok("ls", model).splitlines()
    (line,) = [line for line in listed if "gone" in line]
    assert line.strip() != "gone" and "w" in listed


def test_shards_that_are_archives(mount, model):
    np.savez(model / "part0.npz", **{"layer.0.w": A, "layer.1.w": B})
    np.savez_compressed(model / "part1.npz", **{"layer.2.w": B})
    np.savez(model / "index.npz", **{"layer.0.w": "x/part0.npz", "layer.1.w": "x/part0.npz",
                                     "layer.2.w": "x/part1.npz"})
    m = mount(model)
    assert views("layer.0.w", "layer.1.w", "layer.2.w") <= set(os.listdir(m.path))
    assert np.array_equal(np.load(m.path / "layer.0.w.npy"), A) and np.array_equal(np.load(m.path / "layer.2.w.npy"), B)
    assert m.errors() == []


def test_a_key_that_its_shard_lacks(mount, model):
    np.savez(model / "part.npz", a=A)
    np.savez(model / "index.npz", a="part.npz", b="part.npz")
    m = mount(model, announced=["b"])
    assert np.array_equal(np.load(m.path / "a.npy"), A)
    assert [error["errno"] for error in m.errors()] == ["ENOENT"]


def test_each_directory_has_its_own_index(mount, model):
    write(model / "one/w.npy", npy(A))
    write(model / "two/w.npy", npy(B))
    np.savez(model / "one/index.npz", **{"blocks/0/w": "one/w.npy"})
    np.savez(model / "two/index.npz", **{"w": "two/w.npy"})
    m = mount(model)
    assert sorted(m.manifest()) == ["one/blocks/0/w", "two/w"]
    assert np.array_equal(np.load(m.path / "one/blocks/0/w.npy"), A)


def test_an_index_npz_of_numbers_is_an_archive_like_others(mount, model):
    np.savez(model / "index.npz", a=A)
    m = mount(model)
    assert list(m.manifest()) == ["index/a"]


@pytest.mark.parametrize("suffix", ["npy", "raw", "bin"])
@pytest.mark.parametrize("sidecar", ["x_meta.json", "x.meta.json"])
def test_bytes_with_a_sidecar_are_an_array(mount, model, suffix, sidecar):
    data = bytes(range(24))
    write(model / f"x.{suffix}", data)
    write(model / sidecar, json.dumps({"shape": [2, 3, 4], "dtype": "float8_e5m2"}).encode())
    m = mount(model)
    listed = set(os.listdir(m.path))
    assert listed == views("x") | ({sidecar} if sidecar == "x_meta.json" else set())
    assert (m.path / "x.raw").read_bytes() == data
    loaded = np.load(m.path / "x.npy")
    assert loaded.shape == (2, 3, 4) and loaded.dtype == np.dtype("V1") and loaded.tobytes() == data
    assert np.load(m.path / "x.u8view.npy").shape == (2, 3, 4)
    meta = m.meta("x")
    assert (meta["dtype"], meta["dtype_from"], meta["descr"]) == ("float8_e5m2", "sidecar", "<V1")
    assert meta["shape"] == [2, 3, 4] and meta["npyfs"] == 1


@pytest.mark.parametrize("dtype, itemsize, loaded", [
    ("float32", 4, "<f4"), ("<f4", 4, "<f4"), (">i2", 2, ">i2"), ("bfloat16", 2, "V2"), ("int8", 1, "i1"),
    ("complex64", 8, "<c8"), ("bool", 1, "?"), ("<U2", 8, "<U2")])
def test_a_synthesised_image_is_as_numpy_writes_it(mount, model, dtype, itemsize, loaded):
    data = bytes(6 * itemsize)
    write(model / "x.bin", data)
    write(model / "x_meta.json", json.dumps({"shape": [2, 3], "dtype": dtype}).encode())
    m = mount(model)
    wanted = np.frombuffer(data, loaded).reshape(2, 3)
    assert np.array_equal(np.load(m.path / "x.npy"), wanted)
    if loaded[0] != "V":
        assert (m.path / "x.npy").read_bytes() == npy(wanted)
    assert m.meta("x")["data_offset"] % 64 == 0


def test_of_two_sidecars_the_one_with_the_underscore_wins(mount, model):
    write(model / "x.bin", bytes(4))
    write(model / "x_meta.json", b'{"shape": [4], "dtype": "float8_e5m2"}')
    write(model / "x.meta.json", b'{"shape": [2], "dtype": "float16"}')
    assert mount(model).meta("x")["dtype"] == "float8_e5m2"


def test_a_sidecar_beside_an_image_names_the_type(mount, model):
    write(model / "x.npy", npy(np.zeros((2, 3), "V1")))
    write(model / "x_meta.json", b'{"shape": [2, 3], "dtype": "float8_e4m3fn"}')
    m = mount(model)
    assert (m.meta("x")["dtype"], m.meta("x")["dtype_from"]) == ("float8_e4m3fn", "sidecar")
    assert (m.path / "x.npy").read_bytes() == npy(np.zeros((2, 3), "V1"))


def test_a_sidecar_that_disagrees_with_the_size_leaves_a_plain_file(mount, model):
    write(model / "x.npy", bytes(23))
    write(model / "x_meta.json", b'{"shape": [2, 3, 4], "dtype": "float8_e5m2"}')
    m = mount(model, announced=["x"])
    assert mounting.tree(m.path) == mounting.tree(model)
    (error,) = m.errors()
    assert error["errno"] == "EIO" and "23" in error["what"] and "24" in error["what"]


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"shape": [-1], "dtype": "float32"}',
                                  b'{"shape": [4], "dtype": "what"}',
                                  b'{"shape": [4611686018427387904, 8], "dtype": "float32"}', b"[" * 100_000])
def test_a_sidecar_that_makes_no_sense_leaves_a_plain_file(mount, model, text):
    write(model / "x.bin", bytes(4))
    write(model / "x_meta.json", text)
    m = mount(model, announced=["x"])
    assert mounting.tree(m.path) == mounting.tree(model)


@pytest.mark.parametrize("ending", ["_meta.json", ".meta.json"])
@pytest.mark.parametrize("text", [b"{", b'{"epoch": 3}', '{"shape": [4], "dtype": "int8"}'.encode("utf-16")])
def test_bytes_without_a_header_tell_of_the_sidecar_that_did_not_help(mount, model, ending, text):
    write(model / "x.npy", bytes([9, 8, 7, 6]))
    write(model / f"x{ending}", text)
    m = mount(model, announced=["x.npy"])
    (error,) = m.errors()
    assert error["what"].endswith(f"09 08 07 06; x{ending} beside it isn't JSON text with a shape and a dtype")


@pytest.mark.parametrize("suffix", ["npy", "raw", "bin"])
@pytest.mark.parametrize("text, missing", [
    (b'{"dtype": "int8"}', 'no shape for 4 bytes that have no header; add "shape": [...], a list of lengths'),
    (b'{"shape": [4.0], "dtype": "int8"}',
     'no shape for 4 bytes that have no header; add "shape": [...], a list of lengths'),
    (b'{"shape": [4]}',
     'no dtype for 4 bytes that have no header; add "dtype": "...", such as float32 or float8_e4m3fn')])
def test_a_sidecar_that_lacks_something_says_what_bytes_without_a_header_need(mount, model, suffix, text, missing):
    write(model / f"x.{suffix}", bytes([9, 8, 7, 6]))
    write(model / "x_meta.json", text)
    m = mount(model, announced=[f"x.{suffix}"])
    assert mounting.tree(m.path) == mounting.tree(model)
    assert [error["what"] for error in m.errors()] == [f"x.{suffix}: the sidecar: {missing}"]


def test_large_file_pointers_are_named(mount, model):
    write(model / "w.npy", POINTER)
    write(model / "part.npz", POINTER)
    write(model / "a.npy", npy(A))
    m = mount(model, announced=["w.npy", "part.npz"])
    assert (m.path / "w.npy").read_bytes() == POINTER and (m.path / "part.npz").read_bytes() == POINTER
    assert all("lfs" in m.manifest()[path]["error"].lower() for path in m.manifest() if path != "a")
    errors = {error["where"]: error["what"] for error in m.errors()}
    assert "lfs" in errors["w.npy"].lower() and "123456" in errors["w.npy"]
    assert "lfs" in errors["part.npz"].lower()


def test_damaged_files_harm_nobody_else(mount, model):
    write(model / "cut.npz", archive([member("a.npy", npy(A))])[:100])
    write(model / "short.npy", npy(A)[:-3])
    write(model / "broken.npy", b"\x93NUMPY\1\0\x10\0" + b"x" * 30)
    write(model / "good.npy", npy(A))
    m = mount(model, announced=["cut", "short", "broken"])
    for name in ("cut.npz", "short.npy", "broken.npy", "good.npy"):
        assert (m.path / name).read_bytes() == (model / name).read_bytes(), name
    assert not (m.path / "short.raw").exists() and not (m.path / "broken.raw").exists()
    assert m.meta("short")["error"] and m.meta("broken")["error"] and "error" not in m.meta("good")
    assert {"cut.npz", "short.npy", "broken.npy"} <= set(where_errors(m))


def test_a_zip_without_arrays_is_a_file(mount, model):
    write(model / "docs.zip", archive([member("readme.txt", b"hello")]))
    write(model / "empty.npz", archive([]))
    m = mount(model)
    assert mounting.tree(m.path) == mounting.tree(model)


def test_a_container_yields_to_a_real_directory(mount, model):
    np.savez(model / "weights.npz", a=A)
    write(model / "weights/b.npy", npy(B))
    m = mount(model, announced=["weights"])
    assert sorted(m.manifest()) == ["weights/b", "weights~2/a"]


def test_a_file_of_several_images_in_a_directory(mount, model):
    write(model / "x.npy", npy(A) + npy(A + 1))
    m = mount(model)
    assert np.array_equal(np.load(m.path / "x.concat.npy"), np.concatenate([A, A + 1]))
    assert set(os.listdir(m.path)) == views("x", "x.concat") | {"x.parts"}


def test_a_real_entry_wins_over_parts(mount, model):
    write(model / "x.npy", npy(A) + npy(A + 1))
    write(model / "x.concat.npy", npy(B))
    write(model / "x.parts/notes.txt", b"mine")
    m = mount(model)
    assert np.array_equal(np.load(m.path / "x.concat.npy"), B)
    assert os.listdir(m.path / "x.parts") == ["notes.txt"]


def test_names_on_disk_keep_their_bytes(mount, model):
    names = [b"caf\xe9.npy", b"100%41.npy", "żółw.npy".encode(), b"tab\there.npy", b"x" * 239 + b".npy", b"a.b.npy"]
    for name in names:
        with open(os.fsencode(model) + b"/" + name, "wb") as file:
            file.write(npy(A))
    m = mount(model, "--split", ".")
    listed = os.listdir(os.fsencode(m.path))
    for name in names:
        assert name in listed or name == b"a.b.npy", name
        with open(os.fsencode(m.path) + b"/" + name, "rb") as file:
            assert file.read() == npy(A)
    assert "caf%E9" in m.manifest()


def test_the_longest_name_on_disk_is_there_as_it_is(mount, model):
    name = "x" * 251 + ".npy"
    write(model / name, npy(A))
    m = mount(model)
    assert (m.path / name).read_bytes() == npy(A)
    assert name in os.listdir(m.path)
    assert np.array_equal(np.load(m.path / name), A)


def test_links_lead_where_open_leads(mount, model):
    write(model.parent / "elsewhere/big.npy", npy(A))
    os.symlink("../elsewhere/big.npy", model / "link.npy")
    os.symlink("../elsewhere", model / "dir")
    m = mount(model)
    assert np.array_equal(np.load(m.path / "link.npy"), A) and np.array_equal(np.load(m.path / "dir/big.npy"), A)
    assert not os.path.islink(m.path / "link.npy")
    assert m.errors() == []


def test_loops_dangling_links_pipes_and_sockets(mount, model):
    write(model / "sub/a.npy", npy(A))
    os.symlink("..", model / "sub/up")
    os.symlink(".", model / "self")
    os.symlink("nowhere", model / "dangling.npy")
    os.symlink("turn", model / "turn")
    os.mkfifo(model / "pipe.npy")
    os.mknod(model / "device", 0o20600, os.makedev(1, 3))
    m = mount(model, announced=["sub/up", "self", "dangling", "turn", "pipe", "device",
                                "and [0-9]+ more"])
    assert np.array_equal(np.load(m.path / "sub/a.npy"), A)
    errors = where_errors(m)
    assert {"sub/up", "self", "dangling.npy", "turn", "pipe.npy", "device"} <= set(errors)
    assert errors["dangling.npy"] == "ENOENT" and errors["sub/up"] == errors["turn"] == "ELOOP"


def test_a_directory_linked_twice_is_no_loop(mount, model):
    write(model / "v1/a.npy", npy(A))
    os.symlink("v1", model / "latest")
    m = mount(model)
    assert sorted(m.manifest()) == ["latest/a", "v1/a"]


@pytest.mark.parametrize("options, shown", [((), False), (("-o", "follow"), True)])
def test_under_allow_other_links_stay_inside(mount, model, options, shown):
    write(model.parent / "elsewhere/big.npy", npy(A))
    write(model / "a.npy", npy(A))
    os.symlink("../elsewhere/big.npy", model / "out.npy")
    os.symlink("a.npy", model / "inside.npy")
    m = mount(model, "-o", "allow_other", *options, announced=["out.npy"])
    assert (m.path / "out.npy").exists() == shown
    assert (m.path / "inside.npy").exists()
    if not shown:
        assert "out.npy" in m.stderr + m.log()
        assert where_errors(m)["out.npy"] == "EACCES"


def test_what_may_not_be_read_is_reported(npyfs, model):
    write(model / "secret.npy", npy(A))
    write(model / "a.npy", npy(A))
    write(model / "closed/b.npy", npy(A))
    (model / "secret.npy").chmod(0)
    (model / "closed").chmod(0)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    listed = npyfs.command(*nobody, npyfs.binary, "info", model)
    assert listed.returncode == 0, listed.stderr
    assert "secret" in listed.stdout and "closed" in listed.stdout and "ermission" in listed.stdout
    assert "a" in npyfs.command(*nobody, npyfs.binary, "ls", model).stdout.split()


def test_an_empty_directory(mount, model):
    m = mount(model)
    assert os.listdir(m.path) == [] and m.manifest() == {} and m.errors() == []


def test_a_copy_of_a_mount_mounts_as_the_original(mount, home):
    grid = np.arange(24, dtype="<f4").reshape(4, 6)
    arrays = {"c": grid, "f": np.asfortranarray(grid), "big": grid.astype(">f4"), "n/s": np.zeros(2, "i1, f8"),
              "t": np.array("text"), "z": np.zeros((0, 3)), "obj": np.array([1, None], object),
              "bits": np.zeros(4, "V1"), "m//w": grid}
    np.savez_compressed(home / "x.npz", **arrays)
    first = mount(home / "x.npz", "--dtype", "bits=float8_e4m3fn")
    shutil.copytree(first.path, home / "copy")
    second = mount(home / "copy")
    assert mounting.tree(second.path) == mounting.tree(first.path)
    for path, entry in first.manifest().items():
        again = second.manifest()[path]
        assert {**entry, "source": None} == {**again, "source": None}
    assert second.errors() == []


def test_a_copy_of_a_directory_mount_mounts_as_the_original(mount, model, home):
    write(model / "w.bin", bytes(range(24)))
    write(model / "w_meta.json", b'{"shape": [2, 12], "dtype": "float8_e5m2"}')
    np.savez(model / "index.npz", **{"layer.0": "model/shards/l.npy"})
    write(model / "shards/l.npy", npy(np.asfortranarray(A)))
    np.savez(model / "part.npz", a=A)
    write(model / "config.json", b"{}")
    write(model / "chunks.npy", npy(A) + npy(A))
    first = mount(model)
    subprocess.run(["cp", "-r", first.path, home / "copy"], check=True)
    second = mount(home / "copy")
    assert mounting.tree(second.path) == mounting.tree(first.path)
    assert sorted(second.manifest()) == sorted(first.manifest())
    for path in first.manifest():
        assert second.meta(path) == first.meta(path), path


def test_a_copy_that_was_altered_is_taken_as_it_is(mount, home):
    np.savez(home / "x.npz", x=A)
    first = mount(home / "x.npz")
    shutil.copytree(first.path, home / "copy")
    np.save(home / "copy/x.npy", B)
    second = mount(home / "copy", announced=["x"])
    assert np.array_equal(np.load(second.path / "x.npy"), B)
    assert second.meta("x")["shape"] == [5]
    assert c_bytes(A) in mounting.tree(second.path).values(), "the copied raw file is lost"


def test_a_shard_that_is_not_yet_open_is_found_by_the_directory_not_the_path(mount, model):
    write(model / "w.npy", npy(A))
    m = mount(model)
    model.rename(model.parent / "moved")
    assert np.array_equal(np.load(m.path / "w.npy"), A)


def test_more_shards_than_open_files(mount, npyfs, model):
    for i in range(1500):
        write(model / f"w{i}.npy", npy(np.full(3, i)))
    m = mount(model, preexec_fn=few_files)
    handles = [open(m.path / f"w{i}.raw", "rb") for i in range(0, 900)]
    for i in range(1500):
        assert np.array_equal(np.load(m.path / f"w{i}.npy"), np.full(3, i))
    assert np.array_equal(np.fromfile(handles[700], int), np.full(3, 700))
    for handle in handles:
        handle.close()


def few_files():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
