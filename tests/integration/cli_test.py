"""The command line: verbs that need no mount, and mount's many forms."""

import json
import os
import re
import signal
import subprocess

import numpy as np
import pytest

import mounting
from npycraft import npy
from zipcraft import DEFLATE, archive, member

A, B = np.arange(6, dtype="<f4").reshape(2, 3), np.arange(5, dtype="<i8")


@pytest.fixture
def source(home):
    """Two sound arrays, a damaged one, one that NumPy has no type for, and a text."""
    path = home / "x.npz"
    path.write_bytes(archive([
        member("layer.0/w.npy", npy(A)), member("layer.0/b.npy", npy(B), method=DEFLATE),
        member("cut.npy", npy(A)[:-3]), member("fp8.npy", npy(np.zeros((3, 2), "V1"))),
        member("note.txt", b"hello\n")]))
    return path


def test_version_names_what_it_is_built_with(npyfs):
    text = npyfs.ok("--version")
    assert re.search(r"^npyfs \d+\.\d+", text)
    for library in ("fuse", "libzip", "zlib", "ISA-L"):
        assert re.search(rf"{library}\D*\d+\.\d+", text, re.IGNORECASE), library


def test_help_goes_to_stdout(npyfs):
    text = npyfs.ok("--help")
    for verb in ("mount", "umount", "ls", "info", "cat", "extract"):
        assert re.search(rf"\b{verb}\b", text)
        assert verb in npyfs.ok(verb, "--help")
    assert "--views" in npyfs.ok("mount", "--help")


@pytest.mark.parametrize("arguments", ["", "unmunt", "--nonsense", "ls", "cat", "extract", "info", "ls --what x"])
def test_wrong_usage_ends_with_2(npyfs, arguments):
    done = npyfs.run(*arguments.split())
    assert done.returncode == 2 and done.stdout == ""
    assert re.match("npyfs: |usage: npyfs ", done.stderr) and "help" in done.stderr


def test_a_slip_is_met_with_a_guess(npyfs):
    assert "umount" in npyfs.run("unmount").stderr
    assert "--views" in npyfs.run("mount", "--view", "x", "y").stderr


def test_ls_prints_paths_and_marks_what_is_damaged(npyfs, source):
    lines = npyfs.ok("ls", source).splitlines()
    assert [line.split()[0] for line in lines] == ["layer.0/w", "layer.0/b", "cut", "fp8"]
    assert lines[0] == "layer.0/w" and lines[2] != "cut"


def test_ls_takes_globs_on_keys(npyfs, source):
    assert npyfs.ok("ls", source, "layer*").split() == ["layer.0/w", "layer.0/b"]
    assert npyfs.ok("ls", source, "*/b", "fp?").split() == ["layer.0/b", "fp8"]
    done = npyfs.run("ls", source, "nothing*")
    assert done.stdout == "" and "nothing*" in done.stderr and done.returncode == 1


def test_ls_l_is_a_table(npyfs, source):
    table = npyfs.ok("ls", "-l", source)
    row = next(line for line in table.splitlines() if line.startswith("layer.0/w"))
    assert "float32" in row and "stored" in row and "24" in row and re.search(r"2, ?3|2 ?[x×] ?3", row)
    assert "deflate" in next(line for line in table.splitlines() if line.startswith("layer.0/b"))


def test_ls_json_is_the_manifest(npyfs, mount, source):
    listed = json.loads(npyfs.ok("ls", "--json", source))
    m = mount(source, announced=["cut"])
    assert listed == json.loads((m.control / "manifest.json").read_text())
    assert [entry["path"] for entry in json.loads(npyfs.ok("ls", "--json", source, "fp*"))] == ["fp8"]


def test_ls_knows_split_and_dtype(npyfs, source):
    assert npyfs.ok("ls", "--split", ".", source, "layer*").split()[0] == "layer/0/w"
    (entry,) = json.loads(npyfs.ok("ls", "--json", "--dtype", "fp*=int4", source, "fp8"))
    assert (entry["dtype"], entry["dtype_from"]) == ("int4", "option")


def test_info_of_a_source_and_of_an_array(npyfs, source):
    summary = npyfs.ok("info", source)
    assert re.search(r"arrays\s+4|4 arrays", summary) and "cut" in summary
    text = npyfs.ok("info", source, "layer.0/w")
    assert "float32" in text and "24" in text
    assert "--dtype" in npyfs.ok("info", source, "fp8"), "no word on how to settle the type"
    assert json.loads(npyfs.ok("info", "--json", source))
    assert "nope" in npyfs.refused("info", source, "nope")


def test_info_json_of_arrays_is_what_the_manifest_says(npyfs, source):
    found = json.loads(npyfs.ok("info", "--json", source, "layer.0/w"))
    found = found[0] if isinstance(found, list) else found
    assert found["name"] == "layer.0/w" and found["shape"] == [2, 3]


@pytest.mark.parametrize("path, content", [
    ("layer.0/w.npy", npy(A)), ("layer.0/b.raw", B.tobytes()), ("note.txt", b"hello\n"), ("cut.npy", npy(A)[:-3])])
def test_cat_writes_files_of_the_mount(npyfs, source, path, content):
    assert npyfs.ok("cat", source, path, text=False) == content


def test_cat_of_several_and_of_what_is_missing(npyfs, source):
    assert npyfs.ok("cat", source, "layer.0/w.raw", "note.txt", text=False) == A.tobytes() + b"hello\n"
    assert "layer.0/x.npy" in npyfs.refused("cat", source, "layer.0/x.npy")
    assert "layer.0" in npyfs.refused("cat", source, "layer.0")
    assert json.loads(npyfs.ok("cat", source, "layer.0/w.meta.json"))["name"] == "layer.0/w"


def test_cat_into_a_closed_pipe_ends_quietly(npyfs, home):
    np.savez(home / "big.npz", x=np.zeros(3_000_000))
    done = npyfs.command("bash", "-c", f"{npyfs.binary} cat {home}/big.npz x.raw | head -c 10 | wc -c")
    assert done.stdout.strip() == "10" and "terminate" not in done.stderr


def test_results_that_cannot_be_written_are_a_failure(npyfs, source):
    for verb in (["ls", source], ["--version"], ["cat", source, "note.txt"], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = npyfs.run(*verb, stdout=full)
        assert done.returncode == 1 and "No space left" in done.stderr, verb


def test_extract_writes_the_sound_arrays_and_says_what_is_damaged(npyfs, source, home):
    out = home / "out"
    message = npyfs.refused("extract", source, out)
    assert "cut" in message
    files = mounting.tree(out)
    assert files["layer.0/w.npy"] == npy(A) and files["layer.0/b.npy"] == npy(B)
    assert "fp8.npy" in files and "cut.npy" not in files
    assert not [name for name in files if files[name] is not None and not name.endswith(".npy")]


def test_extract_takes_globs_and_views(npyfs, source, home):
    npyfs.ok("extract", "--views", "raw:meta", source, home / "out", "layer*")
    assert sorted(name for name, content in mounting.tree(home / "out").items() if content is not None) == [
        "layer.0/b.meta.json", "layer.0/b.raw", "layer.0/w.meta.json", "layer.0/w.raw"]
    assert (home / "out/layer.0/b.raw").read_bytes() == B.tobytes()


def test_extract_skips_what_is_there(npyfs, source, home):
    npyfs.ok("extract", source, home / "out", "layer*")
    os.utime(home / "out/layer.0/w.npy", (1, 1))
    (home / "out/layer.0/b.npy").unlink()
    npyfs.ok("extract", source, home / "out", "layer*")
    assert (home / "out/layer.0/w.npy").stat().st_mtime == 1
    assert (home / "out/layer.0/b.npy").read_bytes() == npy(B)


def test_extract_of_nothing_is_a_failure(npyfs, source, home):
    assert "nothing*" in npyfs.refused("extract", source, home / "out", "nothing*")


def test_extract_never_leaves_its_directory(npyfs, home):
    (home / "x.npz").write_bytes(archive([member("../../evil.npy", npy(A)), member("/abs.npy", npy(A)),
                                          member("link/x.npy", npy(A))]))
    (home / "out").mkdir()
    (home / "elsewhere").mkdir()
    os.symlink(home / "elsewhere", home / "out/link")
    done = npyfs.run("extract", home / "x.npz", home / "out")
    assert done.returncode == 1 and "link" in done.stderr
    assert os.listdir(home / "elsewhere") == [] and not (home / "evil.npy").exists()
    assert (home / "out/abs.npy").read_bytes() == npy(A)
    assert (home / "out/%2E%2E/%2E%2E/evil.npy").read_bytes() == npy(A)


def test_extract_of_a_member_that_turns_out_damaged_leaves_no_part_of_it(npyfs, home):
    (home / "x.npz").write_bytes(archive([member("bad.npy", npy(np.arange(100_000)), method=DEFLATE, crc=1),
                                          member("good.npy", npy(A))]))
    assert "bad" in npyfs.refused("extract", home / "x.npz", home / "out")
    assert os.listdir(home / "out") == ["good.npy"]


def test_extract_to_a_full_disk(npyfs, home):
    np.savez(home / "big.npz", x=np.zeros(1_000_000))
    (home / "disk").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", home / "disk"], check=True)
    try:
        message = npyfs.refused("extract", home / "big.npz", home / "disk/out")
        assert "no space left" in message.lower() and "x.npy" in message
        assert os.listdir(home / "disk/out") == []
    finally:
        subprocess.run(["umount", home / "disk"], check=True)


def test_a_file_beyond_the_users_limit_is_refused_and_leaves_nothing(npyfs, home):
    np.savez(home / "big.npz", x=np.zeros(1_000_000))
    limited = ["prlimit", "--fsize=1000000", npyfs.binary, "extract", home / "big.npz", home / "out"]
    client = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert client.returncode == 1
    assert "file too large" in client.stderr.lower() and "x.npy" in client.stderr
    assert os.listdir(home / "out") == []


def test_extract_of_a_directory_source(npyfs, home):
    (home / "model").mkdir()
    np.save(home / "model/a.npy", A)
    np.savez(home / "model/w.npz", b=B)
    npyfs.ok("extract", home / "model", home / "out")
    assert sorted(name for name, content in mounting.tree(home / "out").items() if content) == ["a.npy", "w/b.npy"]


def test_verbs_work_without_a_fuse_device(npyfs, source):
    done = npyfs.in_namespace(f"mount --bind /dev/null /dev/fuse && exec {npyfs.binary} ls {source}")
    assert done.returncode == 0 and "layer.0/w" in done.stdout


@pytest.mark.parametrize("text", [
    "", "ro", "rw,noatime,nofail,_netdev,user,relatime,x-gvfs-hide", "ro,allow_other,views=npy",
    "defaults,nosuid,nodev,noexec", "fsname=a b,subtype=other,split=."])
def test_the_form_that_mount_8_uses(mount, source, text):
    options = text.split(",") if text else []
    m = mount(source, *options, verb=(), announced=["cut"])
    path = "layer/0/w" if "split=." in options else "layer.0/w"
    assert np.array_equal(np.load(m.path / f"{path}.npy"), A)
    if "views=npy" in options:
        assert sorted(os.listdir(m.path)) == ["cut.npy", "fp8.npy", "layer.0", "note.txt"]
    shown = mounting.mounts()[str(m.path)][1]
    assert "ro" in shown
    assert {"noexec", "nosuid", "nodev"} & set(options) <= set(shown)


def test_long_options_work_behind_o(mount, source):
    m = mount(source, "-o", "views=npy:raw,split=.,dtype=fp*=float8_e4m3fn,cache-size=8M,threads=2,umask=077",
              announced=["cut"])
    assert sorted(os.listdir(m.path)) == ["cut.npy", "fp8.npy", "fp8.raw", "layer", "note.txt"]
    assert m.meta("fp8")["dtype"] == "float8_e4m3fn"


def test_a_list_of_types_behind_o(mount, source):
    m = mount(source, "-o", "dtype=cut=int4:fp*=int2", announced=["cut"])
    assert m.meta("fp8")["dtype"] == "int2"


@pytest.mark.parametrize("helper", ["mount.fuse.npyfs", "mount.npyfs"])
def test_as_the_helper_of_mount_8(npyfs, home, helper):
    """mount -t and a line of fstab, with the helper where mount(8) looks for it, in a namespace of its own."""
    np.savez(home / "x.npz", x=A)
    (home / "mnt").mkdir()
    (home / "over").mkdir()
    kind = helper.removeprefix("mount.")
    script = f"""
        set -e
        mount -t tmpfs none {home}/over
        mkdir {home}/over/upper {home}/over/work
        sbin=$(readlink -f /sbin)
        mount -t overlay -o lowerdir=$sbin,upperdir={home}/over/upper,workdir={home}/over/work none $sbin
        ln -s {npyfs.binary} /sbin/{helper}
        /bin/mount -t {kind} {home}/x.npz {home}/mnt -o ro,allow_other,views=npy
        ls {home}/mnt
        grep {home}/mnt /proc/mounts
        {npyfs.binary} umount {home}/mnt
        echo {home}/x.npz {home}/mnt {kind} ro,noauto,nofail,x-systemd.automount,views=raw 0 0 > {home}/fstab
        /bin/mount -T {home}/fstab {home}/mnt
        ls {home}/mnt
        /bin/umount {home}/mnt
    """
    done = npyfs.in_namespace(script)
    assert done.returncode == 0, done.stderr
    listed, shown, from_fstab = done.stdout.splitlines()
    assert listed == "x.npy" and "fuse.npyfs ro," in shown and from_fstab == "x.raw"


def test_the_helpers_own_flags(npyfs, home):
    np.savez(home / "x.npz", x=A)
    (home / "mnt").mkdir()
    os.symlink(npyfs.binary, home / "mount.fuse.npyfs")
    arguments = [home / "mount.fuse.npyfs", home / "x.npz", home / "mnt"]
    done = npyfs.command(*arguments, "-s", "-n", "-v", "-o", "rw,unheard_of_by_npyfs")
    assert done.returncode == 0, "-s tolerates options that aren't known: " + done.stderr
    npyfs.ok("umount", home / "mnt")
    done = npyfs.command(*arguments, "-f", "-o", "rw")
    assert done.returncode == 0 and not os.path.ismount(home / "mnt"), "-f is a rehearsal"


def test_in_the_foreground(npyfs, home):
    np.savez(home / "x.npz", x=A)
    (home / "mnt").mkdir()
    command = [npyfs.binary, "mount", "-f", home / "x.npz", home / "mnt"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=npyfs.environment) as daemon:
        try:
            mounting.eventually(lambda: os.path.ismount(home / "mnt"), "mounted")
            assert np.array_equal(np.load(home / "mnt/x.npy"), A)
            assert json.loads((home / "mnt/.npyfs/stats.json").read_text())["pid"] == daemon.pid
            daemon.send_signal(signal.SIGINT)
            assert daemon.wait(60) == 0
            assert not mounting.SUSPICIOUS.search(daemon.stderr.read())
        finally:
            daemon.kill()
    assert not os.path.ismount(home / "mnt")


@pytest.mark.parametrize("option", ["-d", "-s"])
def test_debug_and_single_thread(npyfs, home, option):
    np.savez(home / "x.npz", x=A)
    (home / "mnt").mkdir()
    command = [npyfs.binary, "mount", "-f", option, home / "x.npz", home / "mnt"]
    with open(home / "stderr", "w+", encoding="utf-8", errors="replace") as stderr, \
            subprocess.Popen(command, stderr=stderr, env=npyfs.environment) as daemon:
        try:
            mounting.eventually(lambda: os.path.ismount(home / "mnt"), "mounted")
            assert np.array_equal(np.load(home / "mnt/x.npy"), A)
            npyfs.ok("umount", home / "mnt")
            assert daemon.wait(60) == 0
        finally:
            daemon.kill()
        stderr.seek(0)
        assert ("LOOKUP" in stderr.read()) == (option == "-d")


def test_mount_returns_when_the_mount_answers_and_holds_no_pipe(npyfs, home):
    np.savez(home / "x.npz", x=A)
    done = npyfs.command("bash", "-c", f"{npyfs.binary} mount {home}/x.npz {home}/m | cat; ls {home}/m")
    assert "x.npy" in done.stdout  # with the pipe held, cat would wait until the command is out of time
    npyfs.ok("umount", home / "m")


def test_several_mounts_are_unmounted_at_once(npyfs, home):
    np.savez(home / "x.npz", x=A)
    points = [home / "m1", home / "m2"]
    for point in points:
        npyfs.ok("mount", home / "x.npz", point)
    npyfs.ok("umount", *points)
    assert not any(point.exists() for point in points)


def test_what_is_wrong_is_said_once_when_mounting(mount, source):
    m = mount(source, announced=["cut"])
    assert len([line for line in m.stderr.splitlines() if "cut" in line]) == 1
    assert m.stderr.startswith("npyfs: ") and "x.npz" in m.stderr
