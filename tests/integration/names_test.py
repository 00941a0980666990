"""From keys and member names to paths in the mount."""

import hashlib
import os
import stat

import numpy as np
import pytest

import mounting
from npycraft import npy
from zipcraft import UTF8, archive, member

A, B = np.arange(6, dtype="<f4").reshape(2, 3), np.arange(5, dtype="<i8")


def mounted(mount, home, members, *options, **more):
    (home / "x.npz").write_bytes(archive(members))
    return mount(home / "x.npz", *options, **more)


def cut(name, kept=226):
    return name[:kept] + "~" + hashlib.sha256(name.encode()).hexdigest()[:16]


@pytest.mark.parametrize("key, path", [
    ("a/b/c", "a/b/c"),
    ("/abs", "abs"),
    ("m//weights", "m/weights"),
    ("./a/./b", "a/b"),
    ("../evil", "%2E%2E/evil"),
    ("a/../../b", "a/%2E%2E/%2E%2E/b"),
    ("..", "%2E%2E"),
    ("...", "..."),
    ("x\\y", "x\\y"),
    ("layer.0.attn.W_q", "layer.0.attn.W_q"),
    ("a.npy", "a.npy"),
    ("100%", "100%"),
    ("5%z", "5%z"),
    ("a%41b", "a%2541b"),
    ("%2E%2e", "%252E%252e"),
    ("", "%"),
    ("/", "%"),
    (".", "%"),
    ("tab\tnewline\nbell\x07del\x7f", "tab%09newline%0Abell%07del%7F"),
    ("with space, comma", "with space, comma"),
    ("żółw/🐢", "żółw/🐢"),
    (".npyfs", "%2Enpyfs"),
    (".npyfs/manifest", "%2Enpyfs/manifest"),
    ("a/.npyfs", "a/%2Enpyfs"),
    ("-rf", "-rf"),
    ("x" * 300, cut("x" * 300)),
    ("d" * 255 + "/" + "y" * 243, "d" * 255 + "/" + "y" * 243),
    ("d" * 300 + "/x", cut("d" * 300) + "/x"),
    ("ż" * 150, cut("ż" * 150, 113)),
], ids=lambda value: ascii(value)[:40])
def test_where_an_array_is_found(mount, home, key, path):
    m = mounted(mount, home, [member(f"{key}.npy", npy(A))])
    assert np.array_equal(np.load(m.path / f"{path}.npy"), A)
    assert (m.path / f"{path}.raw").read_bytes() == A.tobytes()
    assert np.load(m.path / f"{path}.u8view.npy").size == A.nbytes
    assert m.meta(path)["name"] == key
    (found, entry), = m.manifest().items()
    assert found == path and entry["source"]["member"] == f"{key}.npy"
    listed = os.listdir((m.path / path).parent)
    assert sorted(listed) == sorted(os.path.basename(path) + suffix
                                    for suffix in (".npy", ".raw", ".u8view.npy", ".meta.json"))


def test_a_key_a_thousand_levels_deep(mount, home):
    key = "/".join("d" for _ in range(1000))
    m = mounted(mount, home, [member(f"{key}.npy", npy(A))])
    place = os.open(m.path, os.O_RDONLY)
    for _ in range(999):
        deeper = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = deeper
    assert sorted(os.listdir(place)) == ["d.meta.json", "d.npy", "d.raw", "d.u8view.npy"]
    os.close(place)


@pytest.mark.parametrize("raw, flags, name", [
    (b"caf\x82", 0, "café"),
    (b"caf\x82", UTF8, "café"),
    ("Gewicht_ü".encode(), UTF8, "Gewicht_ü"),
    ("Gewicht_ü".encode(), 0, "Gewicht_ü"),
    (b"\xe1\xe2", 0, "ßΓ"),
])
def test_names_are_utf8_or_else_code_page_437(mount, home, raw, flags, name):
    m = mounted(mount, home, [member(raw + b".npy", npy(A), flags=flags)])
    assert os.listdir(m.path)[0] == f"{name}.npy"
    assert m.meta(name)["name"] == name


def test_plain_members_follow_the_same_rules(mount, home):
    long, edge = "p" * 300 + ".txt", "q" * 251 + ".txt"
    m = mounted(mount, home, [member(name, name.encode()) for name in
                              ("../up.txt", "/abs.txt", "a%41.txt", ".npyfs", long, edge, "odd\x01.txt")])
    wanted = {"%2E%2E/up.txt": "../up.txt", "abs.txt": "/abs.txt", "a%2541.txt": "a%41.txt", "%2Enpyfs": ".npyfs",
              cut(long): long, edge: edge, "odd%01.txt": "odd\x01.txt"}
    assert mounting.tree(m.path) == {"%2E%2E": None} | {path: name.encode() for path, name in wanted.items()}


def test_names_that_differ_only_in_case_are_two(mount, home):
    m = mounted(mount, home, [member("Q.npy", npy(A)), member("q.npy", npy(B))])
    assert (m.path / "Q.npy").read_bytes() == npy(A) and (m.path / "q.npy").read_bytes() == npy(B)


def test_of_two_members_that_want_one_path_the_later_is_numbered(mount, home):
    m = mounted(mount, home, [member("a/x.npy", npy(A)), member("/a/x.npy", npy(B)), member("a//x.npy", npy(B)),
                              member("t", b"1"), member("/t", b"2")], announced=["x", "t"])
    assert list(m.manifest()) == ["a/x", "a/x~2", "a/x~3"]
    assert (m.path / "a/x.npy").read_bytes() == npy(A)
    assert (m.path / "a/x~2.npy").read_bytes() == npy(B)
    assert (m.path / "a/x~2.raw").read_bytes() == B.tobytes()
    entry = m.manifest()["a/x~2"]
    assert entry["name"].endswith("x~2") and entry["source"]["member"] == "/a/x.npy"
    assert (m.path / "t").read_bytes() == b"1" and (m.path / "t~2").read_bytes() == b"2"


def test_a_name_and_the_same_name_with_suffix(mount, home):
    m = mounted(mount, home, [member("x", npy(A)), member("x.npy", npy(B))], announced=["x"])
    assert (m.path / "x.npy").read_bytes() == npy(A)
    assert (m.path / "x~2.npy").read_bytes() == npy(B)
    assert m.manifest()["x~2"]["source"]["member"] == "x.npy"


@pytest.mark.parametrize("file_first", [True, False])
def test_a_directory_yields_to_a_file(mount, home, file_first):
    members = [member("a", b"file"), member("a/b.npy", npy(A))]
    m = mounted(mount, home, members if file_first else members[::-1], announced=["a"])
    assert (m.path / "a").read_bytes() == b"file"
    assert (m.path / "a~2/b.npy").read_bytes() == npy(A)
    assert list(m.manifest()) == ["a~2/b"]


def test_an_array_and_a_directory_of_its_key_are_at_peace(mount, home):
    m = mounted(mount, home, [member("a.npy", npy(A)), member("a/b.npy", npy(B))])
    assert (m.path / "a.npy").read_bytes() == npy(A) and (m.path / "a/b.npy").read_bytes() == npy(B)


def test_a_directory_that_has_the_name_of_an_image_yields(mount, home):
    m = mounted(mount, home, [member("a.npy/b", b"inner"), member("a.npy", npy(A))], announced=["a"])
    assert (m.path / "a.npy").read_bytes() == npy(A)
    assert (m.path / "a.npy~2/b").read_bytes() == b"inner"


def test_real_members_win_over_siblings_of_ours(mount, home):
    m = mounted(mount, home, [member("a.npy", npy(A)), member("a.raw", b"real raw"),
                              member("a.meta.json", b"real meta"), member("b.npy", npy(A)),
                              member("b.u8view.npy", npy(B))])
    assert (m.path / "a.raw").read_bytes() == b"real raw"
    assert (m.path / "a.meta.json").read_bytes() == b"real meta"
    manifest = m.manifest()
    assert "raw" not in manifest["a"]["files"] and "u8view.npy" in manifest["a"]["files"]
    assert (m.path / "b.u8view.npy").read_bytes() == npy(B)
    assert "u8view.npy" not in manifest["b"]["files"]
    assert np.load(m.path / "b.u8view.u8view.npy").size == B.nbytes
    assert sorted(os.listdir(m.path)) == sorted(set(os.listdir(m.path))), "a name is listed twice"


def test_a_directory_wins_over_a_sibling_of_ours(mount, home):
    m = mounted(mount, home, [member("a.npy", npy(A)), member("a.raw/x.npy", npy(B))])
    assert (m.path / "a.raw/x.npy").read_bytes() == npy(B)
    assert "raw" not in m.manifest()["a"]["files"]


def test_directory_symlink_and_mode_of_members(mount, home):
    m = mounted(mount, home, [member("empty/"), member("d/e/"), member("link", b"/etc/passwd", external=0o120777 << 16),
                              member("secret.npy", npy(A), external=0o100000 << 16)])
    assert mounting.tree(m.path / "empty") == {} and os.listdir(m.path / "d") == ["e"]
    assert stat.S_ISREG(os.lstat(m.path / "link").st_mode)
    assert (m.path / "link").read_bytes() == b"/etc/passwd"
    assert stat.S_IMODE(os.stat(m.path / "secret.npy").st_mode) == 0o644


def test_split_makes_directories_of_array_keys_only(mount, home):
    m = mounted(mount, home, [member("layer.0.attn.W_q.npy", npy(A)), member("layer.1.W.npy", npy(B)),
                              member("a..b.npy", npy(A)), member("read.me.txt", b"hi")], "--split", ".")
    assert list(m.manifest()) == ["layer/0/attn/W_q", "layer/1/W", "a/b"]
    assert (m.path / "layer/0/attn/W_q.npy").read_bytes() == npy(A)
    assert m.meta("layer/0/attn/W_q")["name"] == "layer.0.attn.W_q"
    assert (m.path / "read.me.txt").read_bytes() == b"hi"


def test_split_at_another_character(mount, home):
    m = mounted(mount, home, [member("a:b.c.npy", npy(A))], "--split", ":")
    assert list(m.manifest()) == ["a/b.c"]


@pytest.mark.parametrize("split", ["", ".."])
def test_split_takes_one_character(npyfs, home, split):
    (home / "x.npz").write_bytes(archive([]))
    message = npyfs.run("ls", "--split", split, home / "x.npz")
    assert message.returncode == 2 and "split" in message.stderr


@pytest.mark.parametrize("name", ["we ird, (name).npz", "comma,ro.npz", "żółw.npz", "-dash.npz", "back\\slash.npz",
                                  "line\nbreak.npz", "percent%41.npz"])
def test_a_source_and_mount_point_of_any_name(mount, home, name):
    np.savez(home / "plain.npz", x=A)
    os.rename(home / "plain.npz", home / name)
    point = home / f"mnt {name}"
    point.mkdir()
    m = mount(home / name, point=point)
    assert np.array_equal(np.load(m.path / "x.npy"), A)


def test_relative_paths(mount, npyfs, home):
    np.savez(home / "x.npz", x=A)
    (home / "here").mkdir()
    done = npyfs.run("mount", "../x.npz", "m", cwd=home / "here")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(home / "here/m/x.npy"), A)
    npyfs.ok("umount", "m", cwd=home / "here")
    assert not (home / "here/m").exists()
