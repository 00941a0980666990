"""What is measured: lines of work, each for npyfs, for the file itself and for whoever else can do it."""

import dataclasses
import pathlib
import time

import bench_inputs
import bench_mounts
from bench_mounts import Failed, Mounted, TooSlow, read

# Whoever has not done a piece of work by then has failed; --quick waits less for peers.
LIMIT_SECONDS = 300
PEERS = ("fuse-zip", "archivemount", "mount-zip", "ratarmount")


@dataclasses.dataclass
class Line:
    """`amount` bytes in the time taken make MiB/s; `per_second` a count of reads; neither, seconds."""

    key: str
    title: str
    archive: pathlib.Path
    work: str
    files: tuple = ()
    arguments: tuple = ()
    amount: int = 0
    per_second: bool = False
    options: tuple = ()
    systems: tuple = ("native", "npyfs", *PEERS)

    @property
    def unit(self):
        return "MiB/s" if self.amount else "/s" if self.per_second else "s"


class Bench:
    """The inputs, and one measurement of a line on a system: {"value", "cpu", "peak"}."""

    def __init__(self, npyfs, inputs, tree, peer_seconds):
        self.npyfs, self.inputs, self.tree, self.peer_seconds = npyfs, inputs, tree, peer_seconds

    def measure(self, line, system):
        if system in ("npyfs", *PEERS):
            return self._mounted(line, system, self.peer_seconds if system in PEERS else LIMIT_SECONDS)
        if system == "native":
            if line.work == "list_all":
                done = read(line.work, self.tree(with_views="--views" not in line.options))
            else:
                done = read(line.work, *(self.inputs / "native" / name for name in line.files), *line.arguments)
        elif system == "np.load":
            done = read("load_from_archive", line.archive, line.files[0].removesuffix(".npy"))
        else:
            done = read({"zipfile": "zipfile_read", "isal": "isal_inflate"}[system], line.archive, line.files[0])
        return {"value": self._value(line, done), "cpu": done["cpu"], "peak": 0}

    def _mounted(self, line, system, limit):
        command = bench_mounts.command_for(system, self.npyfs, line.options)
        with Mounted(command, line.archive, limit) as mount:
            if line.work == "mount":
                result = {"value": mount.seconds, "cpu": mount.at_start, "peak": mount.highest(), "held": mount.memory()}
            else:
                paths = [f"{mount.directory}/{name}" for name in line.files] or [mount.directory]
                done = read(line.work, *paths, *line.arguments, limit_seconds=limit)
                result = {"value": self._value(line, done), "cpu": done["cpu"] + mount.cpu() - mount.at_start}
        return {"peak": mount.peak, **result}

    @staticmethod
    def _value(line, done):
        if line.amount:
            return line.amount / done["seconds"] / (1 << 20)
        return done["count"] / done["seconds"] if line.per_second else done["seconds"]


def stored_lines(place, size):
    archive = place / "stored.npz"
    table = {"archive": archive, "files": ("table.npy",)}
    types = ("--dtype", "e4m3fn=float8_e4m3fn", "--dtype", "e5m2=float8_e5m2", "--dtype", "int4=int4", "--dtype",
             "bf16=bfloat16")
    yield Line("stored", "stored: read", work="sequential", amount=size,
               systems=("native", "npyfs", "zipfile", *PEERS), **table)
    yield Line("stored-again", "stored: read again", work="again", amount=size, **table)
    yield Line("stored-sum", "stored: sum over a mapping", work="mapped_sum", amount=size, **table)
    yield Line("stored-random", "stored: random 4 KiB", work="random_reads", arguments=(20000, 0), per_second=True,
               **table)
    yield Line("stored-row", "stored: last row", work="last_row", arguments=(bench_inputs.ROW_BYTES,), **table)
    yield Line("stored-two", "stored: two readers", archive, "together", ("table.npy", "other.npy"), amount=2 * size)
    yield Line("stored-load", "stored: np.load", work="load", amount=size,
               systems=("native", "npyfs", "np.load", *PEERS), **table)
    yield Line("raw", "stored: read .raw", archive, "sequential", ("table.raw",), amount=size, systems=("npyfs",))
    # Each of these has as many bytes when it is float32.
    for name in ("bf16", "e4m3fn", "e5m2", "int4"):
        yield Line(f"f32-{name}", f"{name} decoded to f32: read", archive, "sequential", (f"{name}.f32view.npy",),
                   amount=size, options=types, systems=("npyfs",))


def deflated_lines(place, size, kinds):
    archive = place / "deflated.npz"
    for kind in kinds:
        yield Line(f"deflated-{kind}", f"deflated {bench_inputs.DEFLATED[kind][0]}: read", archive, "sequential",
                   (f"{kind}.npy",), amount=size, systems=("native", "npyfs", "isal", "zipfile", *PEERS))
    few_bits = {"archive": archive, "files": ("few_bits.npy",)}
    yield Line("deflated-random", "deflated: random 4 KiB after a pass", work="random_reads", arguments=(5000, 1),
               per_second=True, systems=("npyfs", *PEERS), **few_bits)
    # With next to no cache each read decodes from a restart point.
    for kind, title in (("few_bits", "deflated: the same, 8 MiB of cache"), ("noise", "deflated f32 noise: the same")):
        yield Line(f"restart-{kind}", title, archive, "random_reads", (f"{kind}.npy",), (500, 1), per_second=True,
                   options=("--cache-size", "8M"), systems=("npyfs",))
    yield Line("deflated-row", "deflated: last row, first touch", work="last_row",
               arguments=(bench_inputs.ROW_BYTES,), **few_bits)
    yield Line("deflated-two", "deflated: two readers", archive, "together", ("few_bits.npy", "noise.npy"),
               amount=2 * size)
    yield Line("deflated-load", "deflated: np.load", work="load", amount=size,
               systems=("native", "npyfs", "np.load", *PEERS), **few_bits)


def many_lines(place, count):
    for kind in ("stored", "deflated"):
        yield Line(f"mount-{kind}", f"mount {count:,} {kind} arrays", place / f"many-{kind}.npz", "mount",
                   systems=("npyfs", *PEERS))
    stored = place / "many-stored.npz"
    yield Line("list", f"ls -lR of them, {4 * count:,} files", stored, "list_all", systems=("native", "npyfs"))
    yield Line("list-npy", f"ls -lR of them, {count:,} files", stored, "list_all", options=("--views", "npy"))


# What peers are asked for when time is short.
MAIN_LINES = ("stored", "stored-random", "deflated-few_bits", "deflated-random", "mount-stored", "mount-deflated")


def without_peers(line):
    """The same line for npyfs and who it is compared with, unless it is a main one."""
    if line.key in MAIN_LINES:
        return line
    return dataclasses.replace(line, systems=tuple(system for system in line.systems if system not in PEERS))


# A measurement that took this long is not made again: it will not be close.
ONCE_SECONDS = 30


def run(bench, lines, rounds, say):
    """{line key: {system: [measurement, …] or text of its failure}}; the systems take turns within a round.

    A peer that is too slow for one line is not asked for the others of that archive.
    """
    installed = {"native", "npyfs", "zipfile", "isal", "np.load", *bench_mounts.peers()}
    results, too_slow = {}, {}
    for line in lines:
        samples = {system: too_slow.get((system, line.archive), []) for system in line.systems if system in installed}
        waiting = [system for system in samples if samples[system] == []]
        samples.update({system: [] for system in waiting})
        for turn in range(rounds):
            first = turn % max(len(waiting), 1)
            for system in waiting[first:] + waiting[:first]:
                start = time.perf_counter()
                try:
                    samples[system].append(bench.measure(line, system))
                    if time.perf_counter() - start > ONCE_SECONDS and system in PEERS:
                        waiting = [other for other in waiting if other != system]
                except Failed as failure:
                    samples[system] = str(failure)
                    waiting = [other for other in waiting if other != system]
                    if isinstance(failure, TooSlow) and system in PEERS:
                        too_slow[system, line.archive] = str(failure)
        results[line.key] = samples
        say(line, samples)
    return results
