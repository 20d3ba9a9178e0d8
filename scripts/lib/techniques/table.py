"""The table of memory techniques, from the Records that run.py wrote.

usage: table.py RECORDS.jsonl [--format md|csv|short|timed]

timed: the Records of memory for `headroom plot`, with the small step's time on the CPU where they have none.
"""

import argparse
import csv
import json
import os
import statistics
import sys
from dataclasses import replace

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import BASE, CASES, FIRST, SINGLE, case_of  # noqa: E402

GIB = 1 << 30
HEAD = ["technique", "against", "peak, GiB", "saved, GiB", "saved, %", "time, %", "loss after 20 steps",
        "claimed", "measured", "agrees"]
COMPILED = "compiled time, %"  # beside "time, %", where it was measured


def percent(ratios):
    """The change that the median ratio is; None: there is none."""
    return 100 * (statistics.median(ratios) - 1) if ratios else None


class Rows:
    def __init__(self, path):
        self.memory, self.times, self.compiled = {}, {}, {}
        with open(path, encoding="utf-8") as file:
            for record in map(json.loads, filter(str.strip, file)):
                if record["what"] == "memory":
                    self.memory[record["technique"]] = record
                else:
                    times = self.times if record["what"] == "time" else self.compiled
                    times.setdefault(record["technique"], {}).setdefault(record["round"], []).append(record)
        self.cases = [case for case in CASES if case.name in self.memory or not case.is_compiled]
        self.head = HEAD if not self.compiled else [*HEAD[:6], COMPILED, *HEAD[6:]]

    @staticmethod
    def ratios(times, name, against):
        """Median step over the median step without the technique, of each round."""
        found = []
        for turn, records in sorted(times.get(name, {}).items()):
            base = times.get(against, {}).get(turn)
            mine = records[-1]  # of the case that ran twice: its second run
            if base and base[0]["status"] == mine["status"] == "ok":
                found.append(statistics.median(mine["step_ms"]) / statistics.median(base[0]["step_ms"]))
        return found

    def time_change(self, name, against):
        """Percent: on the card, where the memory was measured on one, else on the CPU. None: not measured there."""
        mine, base = (self.memory.get(key, {}).get("step_ms") for key in (name, against))
        if mine and base:
            return percent([statistics.median(mine) / statistics.median(base)])
        if self.memory[BASE]["step_ms"]:
            return None
        return percent(self.ratios(self.times, name, against))

    def compiled_change(self, name, against):
        """Percent, with compiled kernels in both; None: they do not run one of the two."""
        return percent(self.ratios(self.compiled, name, against))

    def loss(self, name):
        records = self.times.get(name, {}).get(0)
        return records[0]["losses"][-1] if records and records[0].get("losses") else None


def parameters(record):
    return record["predicted"]["parameters"] / (2 if record["spec"].get("weights") == "bf16" else 4)


def quantities(rows, case):
    """The claimed quantities by name; None where one was not measured."""
    mine, base = rows.memory.get(case.name), rows.memory.get(case.against)
    found = {}
    ran = mine and base and mine["status"] == base["status"] == "ok"
    if ran and mine["category_peak_bytes"] and base["category_peak_bytes"]:  # empty without a recorded step
        count = parameters(mine)
        weight = mine["category_peak_bytes"]["parameters"] / count
        state = mine["category_peak_bytes"]["optimizer_state"] / count
        found["activations saved, %"] = 100 * (1 - mine["saved_bytes"] / base["saved_bytes"])
        found["weight, bytes per parameter"] = weight
        found["weight and state, bytes per parameter"] = weight + state
    change = rows.time_change(case.name, case.against)
    if change is not None:
        found["time, %"] = change
    return found


def verdicts(rows, case):
    """Texts: what is claimed, what was measured, whether they agree."""
    values = quantities(rows, case)
    claimed, got, agrees = [], [], []
    for claim in case.claims:
        value = values.get(claim.quantity)
        claimed.append(claim.text)
        got.append("n/a" if value is None else f"{value:.1f} {claim.quantity.partition(', ')[2]}"
                   if claim.quantity.endswith("%") else f"{value:.2f} bytes")
        agrees.append("n/a" if value is None else "yes" if claim.low <= value <= claim.high else "no")
    return ["; ".join(texts) for texts in (claimed, got, agrees)]


def row_of(rows, case):
    mine, base = rows.memory.get(case.name), rows.memory.get(case.against)
    status = mine["status"] if mine else "not run"
    if status != "ok":
        cells = [status, status, status]
    else:
        peak = mine["peak_allocated_bytes"]
        cells = [f"{peak / GIB:.3f}"]
        if case.name == BASE or not base or base["status"] != "ok":
            cells += ["", ""]
        else:
            saved = base["peak_allocated_bytes"] - peak
            cells += [f"{saved / GIB:.3f}", f"{100 * saved / base['peak_allocated_bytes']:.1f}"]
    changes = [rows.time_change(case.name, case.against)]
    if rows.compiled:
        changes.append(rows.compiled_change(case.name, case.against))
    times = ["n/a" if slower is None else f"{slower:+.0f}" for slower in changes]
    loss, without = rows.loss(case.name), rows.loss(case.against)
    if loss is None:
        change = "n/a"
    else:
        change = f"{loss:.4f}" if case.name == BASE or without is None else f"{loss - without:+.4f}"
    against = "" if case.name == BASE else case.against
    return [case.name, against, *cells, *times, change, *verdicts(rows, case)]


def markdown(rows):
    yield "### Memory techniques: memory saved and time added\n"
    yield "| " + " | ".join(rows.head) + " |"
    yield "| --- | --- | " + "---: | " * (len(rows.head) - 5) + "--- | ---: | --- |"
    for case in rows.cases:
        yield "| " + " | ".join(row_of(rows, case)) + " |"
    spec, is_card = rows.memory[BASE]["spec"], rows.memory[BASE]["step_ms"]
    card = rows.memory[BASE]["environment"]["device_name"] if is_card else spec["device"]
    small = next(iter(rows.times[BASE].values()))[0]["spec"] if rows.times.get(BASE) else None
    yield (f"\nPeak allocated of a training step, {spec['model_size']}, context {spec['context_length']}, batch "
           f"{spec['batch_size']}, on {card}; `{BASE}`: FP32, AdamW, eager attention. The first "
           f"{len([case for case in rows.cases if case in SINGLE])} rows are one technique each, the others several together.")
    if small:
        turns = len(rows.times[BASE])
        noise = rows.ratios(rows.times, BASE, BASE)
        model = f"d_model {small['d_model']}, {small['layers']} layers, context {small['context_length']}"
        if is_card:
            yield (f"\nTime: median step on {card} over that of `against`. Loss: of a small model on the "
                   f"CPU ({model}), after 20 steps on this repository's documents, byte by byte, beside that of "
                   "`against`.")
        else:
            yield (f"\nTime: median step over that of `against` in the same round, on the CPU, {turns} rounds of all "
                   f"rows in turn ({model}); `{BASE}` beside itself: the noise "
                   f"({min(noise):.2f}..{max(noise):.2f} of 1). Loss: after 20 steps on this repository's "
                   "documents, byte by byte, beside that of `against`.")
    if any(record["status"] == "unsupported" and record["technique"] == "BF16 autocast"
           for records in rows.times.get("BF16 autocast", {}).values() for record in records):
        yield "\nThis CPU has no BF16 products: times and losses of steps with them are left out (n/a)."
    if rows.compiled:
        yield ("\nCompiled time: the same small step by `--kernels compiled`, over that of `against` by the same "
               "kernels; n/a where compiled kernels do not run one of the two, and for the rows of compiled kernels, whose "
               "`time` is already theirs.")
    yield ("\nClaimed: by the memory optimization guide that this project began with; it counts a weight and its "
           "optimizer's state together (12 bytes with AdamW). Measured: the claimed quantity, in this run.")


def short(rows):
    """Some rows, each against the plain step."""
    yield "| technique | peak, GiB | saved, % | time, % |"
    yield "| --- | ---: | ---: | ---: |"
    for case in map(case_of, FIRST):
        name, _, peak, _, saved, time, *_ = row_of(rows, replace(case, against=BASE))
        yield f"| {name} | {peak} | {saved} | {'' if name == BASE else time} |"


def timed(rows):
    """The time: that of the plain small step, times the change within a round, which a change of the machine's speed leaves as it is."""
    plain = [statistics.median(records[0]["step_ms"]) for records in rows.times.get(BASE, {}).values() if records[0]["step_ms"]]
    for case in rows.cases:
        record, ratios = rows.memory.get(case.name), rows.ratios(rows.times, case.name, BASE)
        if record and record["status"] == "ok":
            if not rows.memory[BASE]["step_ms"] and ratios:
                record = {**record, "step_ms": [statistics.median(plain) * statistics.median(ratios)]}
            if record["step_ms"]:
                yield json.dumps(record)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("records")
    parser.add_argument("--format", choices=("md", "csv", "short", "timed"), default="md")
    options = parser.parse_args()
    rows = Rows(options.records)
    if BASE not in rows.memory:
        sys.exit(f"{options.records} has no Record of '{BASE}'")
    if options.format == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows([rows.head, *(row_of(rows, case) for case in rows.cases)])
        return 0
    lines = {"md": markdown, "short": short, "timed": timed}[options.format]
    print("\n".join(lines(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
