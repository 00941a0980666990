"""From measurements to tables: medians, ratios, and the floors that npyfs promises to hold."""

import statistics

MIB = 1 << 20


def median(samples, field="value"):
    if not samples or isinstance(samples, str):
        return None
    return statistics.median(sample[field] for sample in samples)


def shown(value, unit):
    if value is None:
        return ""
    if unit == "s":
        return f"{value:.3g} s" if value >= 0.1 else f"{value * 1000:.3g} ms"
    return f"{value:,.0f} {unit}"


def ahead(line, samples, peers):
    """How npyfs stands to the best of the peers: more is better, but for seconds."""
    own = median(samples.get("npyfs"))
    others = [value for value in (median(samples.get(peer)) for peer in peers) if value]
    if own is None or not others:
        return ""
    ratio = min(others) / own if line.unit == "s" else own / max(others)
    return f"{ratio:.2g} x {'ahead' if ratio >= 1 else 'level' if ratio >= 0.9 else 'BEHIND'}"


def table(lines, results, peers):
    out = ["| work | file itself | npyfs | npyfs/file | in Python | " + " | ".join(peers) + " | npyfs/best peer |",
           "|---|" + "---|" * (len(peers) + 5)]
    for line in lines:
        samples = results[line.key]
        native, own = median(samples.get("native")), median(samples.get("npyfs"))
        python = samples.get("zipfile") or samples.get("np.load")
        ratio = f"{own / native:.2f}" if native and own else ""
        cells = [line.title, shown(native, line.unit), cell(samples.get("npyfs"), line), ratio, cell(python, line),
                 *(cell(samples.get(peer), line) for peer in peers), ahead(line, samples, peers)]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def cell(samples, line):
    return f"fails: {samples[:60]}" if isinstance(samples, str) else shown(median(samples), line.unit)


class Floors:
    """Collects rows of the second table; one that could not be measured is not met."""

    def __init__(self, results):
        self.results, self.rows = results, []

    def value(self, key, system="npyfs", field="value"):
        return median(self.results.get(key, {}).get(system), field)

    def add(self, what, value, sign, bound, unit=""):
        met = value is not None and (value >= bound if sign == ">=" else value <= bound)
        self.rows.append({"work": what, "floor": f"{sign} {bound:g}{unit}",
                          "measured": None if value is None else round(value, 3), "unit": unit, "met": met})

    def ratio(self, what, over, under, sign, bound):
        self.add(what, over / under if over and under else None, sign, bound)


def floors(results, many, stored_bytes, deflated_bytes, cache_bytes):
    f = Floors(results)
    v = f.value
    f.ratio("stored member, cold / file", v("stored"), v("stored", "native"), ">=", 0.22)
    cpu = v("stored", field="cpu")
    f.add("the same, client and daemon", cpu and cpu / (stored_bytes / (1 << 30)), "<=", 0.9, " s/GiB")
    f.ratio("read again / file", v("stored-again"), v("stored-again", "native"), ">=", 0.65)
    f.ratio("sum over a mapping, cold / file", v("stored-sum"), v("stored-sum", "native"), ">=", 0.20)
    f.add("random 4 KiB, cold", v("stored-random"), ">=", 35000, "/s")
    for key in (key for key in results if key.startswith("deflated-") and "isal" in results[key]):
        name = key.removeprefix("deflated-")
        f.ratio(f"deflated {name} / isal_inflate", v(key), v(key, "isal"), ">=", 0.85)
        f.ratio(f"deflated {name} / Python's zipfile", v(key), v(key, "zipfile"), ">=", 2)
    f.add("deflated, random 4 KiB from restart points", v("restart-few_bits"), ">=", 500, "/s")
    whole = v("deflated-few_bits", "isal") and deflated_bytes / MIB / v("deflated-few_bits", "isal")
    # One decode of the way there, at 0.85 of the library's speed.
    f.ratio("deflated, last row / decoding all of it", v("deflated-row"), whole, "<=", 1 / 0.85)
    for key in (key for key in results if key.startswith("f32-")):
        f.ratio(f"{key.removeprefix('f32-')} decoded to f32 / stored read", v(key), v("raw"), ">=", 0.6)
    for kind, bound in (("stored", 0.5), ("deflated", 1.2)):
        # The bounds are for 100,000 arrays; a smaller run has less time in proportion.
        f.add(f"mount {many:,} {kind} arrays", v(f"mount-{kind}"), "<=", bound * many / 100000, " s")
        peak = v(f"mount-{kind}", field="peak")
        f.add(f"memory for {many:,} {kind} arrays", peak and peak / MIB, "<=", 60, " MiB")
    f.ratio("ls -lR, cold / tmpfs (time)", v("list"), v("list", "native"), "<=", 1.6)
    for kind, bound in (("stored", 1.0), ("deflated", 0.6)):
        f.ratio(f"np.load through the mount / of the npz, {kind} (time)", v(f"{kind}-load", "np.load"),
                v(f"{kind}-load"), "<=", bound)
    if "mount-million" in results:
        f.add("mount 1,000,000 arrays", v("mount-million"), "<=", 6, " s")
        for what, field, bound in (("peak", "peak", 600), ("after", "held", 250)):
            value = v("mount-million", field=field)
            f.add(f"memory for 1,000,000 arrays, {what}", value and value / MIB, "<=", bound, " MiB")
    peaks = [sample["peak"] for key, systems in results.items() if key != "mount-million"
             for sample in systems.get("npyfs", ()) if isinstance(sample, dict)]
    f.add("memory, most of any run", max(peaks) / MIB if peaks else None, "<=", cache_bytes / MIB + 128, " MiB")
    return f.rows


def floor_table(rows):
    out = ["| floor | promised | measured | |", "|---|---|---|---|"]
    for row in rows:
        measured = "not measured" if row["measured"] is None else f"{row['measured']:g}{row['unit']}"
        out.append(f"| {row['work']} | {row['floor']} | {measured} | {'met' if row['met'] else 'MISSED'} |")
    return "\n".join(out)
