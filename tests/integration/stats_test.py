"""`npyfs info --stats` against NumPy: every numeric type, order, byte order and way of saving."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import time

import ml_dtypes
import numpy as np
import pytest

import mounting
from codes import EVERY_TYPE, every_code, used_bits, values

INTEGERS = ["|b1", "|i1", "|u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", ">u8"]
FLOATS = ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<f16", ">f16"]
COMPLEX = ["<c8", ">c8", "<c16", ">c16", "<c32"]


def entry(npyfs, source, name="x", *options):
    (found,) = json.loads(npyfs.ok("info", "--json", "--stats", *options, source, name))
    return found


def stats_of(npyfs, source, *options):
    return entry(npyfs, source, "x", *options)["stats"]


def check(stats, x):
    """`stats` are what NumPy says of the numbers in x."""
    values = np.abs(x.astype(np.clongdouble)) if np.iscomplexobj(x) else x
    if np.iscomplexobj(x):
        values = np.where(np.isnan(x.real) | np.isnan(x.imag), np.nan, values)
    finite = values[np.isfinite(values)]
    np.testing.assert_equal(stats["count"], x.size)
    np.testing.assert_equal(stats["finite"], finite.size)
    np.testing.assert_equal(stats["zeros"], np.count_nonzero(values == 0))
    np.testing.assert_equal(stats["nan"], np.count_nonzero(np.isnan(values)))
    np.testing.assert_equal(stats["positive_inf"], np.count_nonzero(np.isposinf(values)))
    np.testing.assert_equal(stats["negative_inf"], np.count_nonzero(np.isneginf(values)))
    if finite.size == 0:
        assert [stats[key] for key in ("min", "max", "mean", "std", "histogram")] == [None] * 5
        return
    if finite.dtype.kind in "biu":
        assert (stats["min"], stats["max"]) == (int(finite.min()), int(finite.max())), "integers are exact"
    else:
        np.testing.assert_allclose([stats["min"], stats["max"]], np.array([finite.min(), finite.max()], float),
                                   rtol=0 if x.dtype.kind == "f" else 1e-7)
    wide = finite.astype(np.longdouble)
    spread = float(wide.max() - wide.min())
    np.testing.assert_allclose(stats["mean"], float(wide.mean()), rtol=1e-12, atol=1e-12 * spread)
    np.testing.assert_allclose(stats["std"], float(wide.std()), rtol=1e-9, atol=1e-18)
    histogram = stats["histogram"]
    assert sum(histogram["counts"]) == finite.size
    if len(histogram["counts"]) > 1 and x.dtype.kind != "c":
        ends = float(histogram["from"]), float(histogram["to"])
        counts, _ = np.histogram(wide.astype(float), len(histogram["counts"]), ends)
        # A value on an edge may round to either side.
        assert np.abs(np.cumsum(counts) - np.cumsum(histogram["counts"])).max() <= max(2, finite.size // 1000)


def numbers(dtype, count=5000):
    """Values of the type over its range, with all that isn't finite in it, and zeros."""
    dtype = np.dtype(dtype)
    source = np.random.default_rng(7)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        x = source.integers(limits.min, limits.max, count, dtype.newbyteorder("="), endpoint=True).astype(dtype)
        x[:2] = limits.min, limits.max
    elif dtype.kind == "b":
        x = source.integers(0, 2, count).astype(dtype)
    else:
        x = source.normal(3, 10, count).astype(dtype)
        x[5:9] = np.nan, np.inf, -np.inf, -0.0
        if dtype.kind == "c":
            x += (1j * source.normal(0, 2, count)).astype(dtype)
            x[9:12] = complex(0, np.nan), complex(np.inf, 1), 0
    x[20:40] = 0
    return x


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + COMPLEX)
def test_every_type_of_numpy(npyfs, home, dtype):
    x = numbers(dtype)
    np.save(home / "x.npy", x)
    check(stats_of(npyfs, home / "x.npy"), x)


@pytest.mark.parametrize("name", EVERY_TYPE)
def test_every_code_of_a_small_type(npyfs, home, name):
    x = every_code(name)
    x = np.append(x, x.reshape(-1)[:3])
    np.save(home / "x.npy", x)
    stats = stats_of(npyfs, home / "x.npy", "--dtype", f"*={name}")
    with np.errstate(invalid="ignore"):
        check(stats, values(x))
    assert stats.get("distinct") == (None if x.itemsize > 2 else 2 ** used_bits(x.dtype))


def test_complex32_comes_as_absolute_values(npyfs, home):
    parts = np.array([[3, 4], [0, 0], [np.nan, 1], [np.inf, -1], [-5, 12]], np.float16)
    np.save(home / "x.npy", parts.view("V4").ravel())
    stats = stats_of(npyfs, home / "x.npy", "--dtype", "x=complex32")
    assert stats["of"] == "absolute values"
    check(stats, parts.astype(np.float32).view(np.complex64).ravel())


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">i2", "<f8"])
def test_large_arrays_in_archives(npyfs, home, save, order, dtype):
    x = numbers(dtype, 300_000).reshape((100, 60, 50), order=order)
    save(home / "x.npz", x=np.asarray(x, order=order))
    check(stats_of(npyfs, home / "x.npz"), x)


@pytest.mark.parametrize("order", ["C", "F"])
def test_small_types_in_any_order(npyfs, home, order):
    x = np.random.default_rng(1).normal(0, 1, (300, 700)).astype(ml_dtypes.bfloat16)
    np.savez_compressed(home / "x.npz", x=np.asarray(x, order=order))
    stats = stats_of(npyfs, home / "x.npz")
    check(stats, x.astype(np.float32))
    assert stats["distinct"] == np.unique(x.view(np.uint16)).size


@pytest.mark.parametrize("x", [np.zeros((0, 3)), np.float32(2.5), np.full(9, np.nan), np.array([], np.int8),
                               np.full(5000, 1 / 3), np.full(1000, -np.inf, np.float16), np.uint64(2**64 - 1)],
                         ids=["empty", "0-d", "all nan", "no codes", "constant", "-inf", "largest"])
def test_odd_ones(npyfs, home, x):
    np.save(home / "x.npy", x)
    check(stats_of(npyfs, home / "x.npy"), np.asarray(x))


@pytest.mark.parametrize("x", [1e9 + np.arange(5000) % 2, np.array([1e308, -1e308, 1.5e308]),
                               np.array([1e-300, 3e-300, 5e-310]),
                               1_700_000_000_000_000_000 + np.arange(10_000) % 100],
                         ids=["far from 0", "squares overflow", "squares vanish", "nanoseconds"])
def test_no_digits_are_lost(npyfs, home, x):
    np.save(home / "x.npy", x)
    stats = stats_of(npyfs, home / "x.npy")
    wide = x.astype(np.longdouble)
    np.testing.assert_allclose(stats["mean"], float(wide.mean()), rtol=1e-14)
    np.testing.assert_allclose(stats["std"], float((wide - wide.mean()).std()), rtol=1e-9)


@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_times_have_a_unit_and_nat(npyfs, home, kind):
    ticks = np.array([5, -7, 0, 2**62], np.int64)
    np.save(home / "x.npy", np.append(ticks, np.iinfo(np.int64).min).view(f"{kind}[25s]"))
    stats = stats_of(npyfs, home / "x.npy")
    assert (stats["unit"], stats["nat"], stats["finite"], stats["zeros"]) == ("25s", 1, 4, 1)
    assert (stats["min"], stats["max"]) == (-7, 2**62)
    assert "in 25s" in npyfs.ok("info", "--stats", home / "x.npy", "x")


def test_what_is_no_number_says_why(npyfs, home):
    arrays = {"text": np.array(["a"]), "bytes": np.array([b"a"]), "void": np.zeros(2, "V3"),
              "fields": np.zeros(2, "i4,f4"), "objects": np.array([None, {}]), "code": np.zeros(2, "V1")}
    np.savez(home / "x.npz", **arrays)
    for name in arrays:
        assert entry(npyfs, home / "x.npz", name)["stats"]["error"]
        assert "no figures: " in npyfs.ok("info", "--stats", home / "x.npz", name)
    assert "--dtype" in entry(npyfs, home / "x.npz", "code")["stats"]["error"]


def test_the_other_keys_are_those_of_the_manifest(npyfs, home):
    np.save(home / "x.npy", np.arange(3))
    plain = json.loads(npyfs.ok("info", "--json", home / "x.npy", "x"))[0]
    found = entry(npyfs, home / "x.npy")
    assert found.pop("stats") and found == plain


def test_the_histogram_is_drawn_as_the_locale_allows(npyfs, home):
    np.save(home / "x.npy", np.arange(100.0))
    npyfs.environment["LC_ALL"] = "C"
    plain = npyfs.ok("info", "--stats", home / "x.npy", "x")
    assert "####" in plain and plain.isascii()
    npyfs.environment["LC_ALL"] = "en_GB.UTF-8"
    assert "███" in npyfs.ok("info", "--stats", home / "x.npy", "x")


def test_stats_without_a_name_is_wrong_usage(npyfs, home):
    np.save(home / "x.npy", np.arange(3))
    done = npyfs.run("info", "--stats", home / "x.npy")
    assert done.returncode == 2 and "needs a NAME" in done.stderr


def rchar(pid):
    """Bytes that a process has read so far."""
    with open(f"/proc/{pid}/io", encoding="ascii") as lines:
        return int(next(lines).split()[1])


@pytest.mark.parametrize("columns, bar", [(0, b" % ["), (120, b" % ["), (50, b" % "), (12, b" % ")])
def test_a_terminal_sees_how_far_a_long_pass_is(npyfs, home, columns, bar):
    """Half a second passes while the process is stopped, so that any machine is slow enough."""
    np.lib.format.open_memmap(home / "x.npy", "w+", "<f4", (2**24,)).flush()  # all of it a hole
    ours, its = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with subprocess.Popen([npyfs.binary, "info", "--stats", home / "x.npy", "x"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=its, env=npyfs.environment) as process:
        os.close(its)
        mounting.eventually(lambda: rchar(process.pid) > 2**20, "values are read")
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.6)
        process.send_signal(signal.SIGCONT)
        seen = b""
        with open(ours, "rb", buffering=0) as terminal:
            with pytest.raises(OSError):  # its side is closed
                while True:
                    seen += terminal.read(4096)
        assert b"16,777,216 zeros" in process.stdout.read()
    assert process.returncode == 0
    drawn = seen.split(b"\r")
    lines = [line.removesuffix(b"\x1b[K") for line in drawn[1:-1]]
    assert lines and all(bar in line and line.isascii() and len(line) < (columns or 80) for line in lines), lines
    assert columns < 40 or all(b" MiB of " in line for line in lines), lines
    assert drawn[-1] == b"\x1b[K", "the line is left on the terminal"


def test_who_is_no_terminal_sees_no_progress(npyfs, home):
    np.save(home / "x.npy", np.zeros(2**22))
    done = npyfs.run("info", "--stats", home / "x.npy", "x")
    assert done.returncode == 0 and done.stderr == "" and "\r" not in done.stdout
