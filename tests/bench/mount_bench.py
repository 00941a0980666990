#!/usr/bin/env python3
"""Measures whole mounts: npyfs against the bytes read natively, Python, and the peers that are installed.

    mount_bench.py NPYFS [--quick] [--only TEXT] [--rounds N] [--work DIR]

Prints two Markdown tables, medians and floors, and keeps them with every sample in DIR/results.{md,json}. The
archives are in the page cache; each measurement has a mount of its own, so what FUSE caches is cold. Needs numpy.
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import bench_inputs
import bench_mounts
import bench_plan
import bench_report

MIB = 1 << 20


class Tree:
    """The same files in tmpfs, empty but of the same sizes, made when first asked for."""

    def __init__(self, count):
        self.count, self.made = count, {}

    def __call__(self, with_views):
        if with_views not in self.made:
            place = tempfile.mkdtemp(prefix="npyfs-bench-", dir="/dev/shm")
            self.made[with_views] = place
            suffixes = {".npy": 144, ".raw": 16, ".u8view.npy": 144, ".meta.json": 300} if with_views else {".npy": 144}
            for i in range(self.count):
                for suffix, size in suffixes.items():
                    fd = os.open(f"{place}/w{i:07d}{suffix}", os.O_CREAT | os.O_WRONLY, 0o644)
                    os.ftruncate(fd, size)
                    os.close(fd)
        return self.made[with_views]

    def remove(self):
        for place in self.made.values():
            shutil.rmtree(place)


def default_cache():
    return min(256 * MIB, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 16)


def machine(npyfs):
    model = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "cpu": f"{os.cpu_count()} x {model[0] if model else platform.machine()}",
        "kernel": platform.release(),
        "load": os.getloadavg()[0],
        "npyfs": subprocess.run([npyfs, "--version"], capture_output=True, text=True).stdout.split("\n")[0],
        "peers": sorted(bench_mounts.peers()),
    }


def plan(place, o):
    yield from bench_plan.stored_lines(place, o.stored)
    yield from bench_plan.deflated_lines(place, o.deflated, ("few_bits", "noise") if o.quick else bench_inputs.DEFLATED)
    yield from bench_plan.many_lines(place, o.many)
    if not o.quick:
        yield bench_plan.Line("mount-million", "mount 1,000,000 stored arrays", place / "million.npz", "mount",
                              systems=("npyfs",))


def say(line, samples):
    for system, values in samples.items():
        text = f"fails: {values}" if isinstance(values, str) else bench_report.shown(
            bench_report.median(values), line.unit)
        print(f"{line.title}: {system}: {text}", file=sys.stderr, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("npyfs")
    p.add_argument("--quick", action="store_true", help="small inputs, fewer kinds, peers on the main lines only: under two minutes")
    p.add_argument("--only", default="", help="lines whose title contains this")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/bench"))
    o = p.parse_args()
    o.stored, o.deflated, o.many = (128 * MIB, 64 * MIB, 20000) if o.quick else (512 * MIB, 256 * MIB, 100000)

    npyfs = os.path.abspath(o.npyfs)
    place = bench_inputs.make(o.work, o.stored, o.deflated, o.many)
    if not o.quick and not (place / "million.npz").exists():
        bench_inputs.write_many(place / "million.npz", 1000000, 0)
    lines = [line for line in plan(place, o) if o.only in line.title]
    if o.quick:
        lines = [bench_plan.without_peers(line) for line in lines]
    tree = Tree(o.many)
    try:
        results = bench_plan.run(bench_plan.Bench(npyfs, place, tree, 3 if o.quick else bench_plan.LIMIT_SECONDS), lines, o.rounds, say)
    finally:
        tree.remove()

    rows = bench_report.floors(results, o.many, o.stored, o.deflated, default_cache())
    if o.only:
        rows = [row for row in rows if row["measured"] is not None]
    where = machine(npyfs)
    text = "\n\n".join([
        f"{where['npyfs']}; {where['cpu']}, Linux {where['kernel']}; medians of {o.rounds} rounds in turns, "
        f"{o.stored // MIB} MiB stored and {o.deflated // MIB} MiB deflated arrays.",
        bench_report.table(lines, results, [peer for peer in bench_plan.PEERS if peer in where["peers"]]),
        bench_report.floor_table(rows),
    ])
    (o.work / "results.md").write_text(text + "\n")
    (o.work / "results.json").write_text(json.dumps({"machine": where, "results": results, "floors": rows}, indent=1))
    print(text)
    missed = sum(not row["met"] for row in rows)
    print(f"\n{len(rows) - missed} floors met, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
