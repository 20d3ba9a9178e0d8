"""Allocators of host memory side by side, from Records of studies/host/compare_allocators.sh.

usage: allocator_table.py mark ROUND ALLOCATOR VARIABLE <RECORD    the Record on one line, so marked
       allocator_table.py md|csv <RECORDS
"""

import csv
import json
import statistics
import sys

COLUMNS = ("allocator", "setting", "peak_rss_bytes", "end_rss_bytes", "step_ms", "step_ms_rounds")
NOTICED = 0.05  # less than that is not called a difference


def mark(line, round_number, allocator, variable):
    record = json.loads(line)
    marks = {"round": int(round_number), "allocator": allocator, "setting": variable}
    return json.dumps({**marks, **record}, separators=(",", ":"))


def row_of(records):
    """One row: the larger of a figure of bytes, the middle one of all steps."""
    first = records[0]
    row = {"allocator": first["allocator"], "setting": first["setting"]}
    bad = [record for record in records if record["status"] != "ok"]
    if bad:
        return {**row, "status": bad[0]["status"], "reason": bad[0]["reason"]}
    cells = [record["environment"]["cell"] for record in records]
    steps = [statistics.median(record["step_ms"]) for record in records]
    return {
        **row,
        "status": "ok",
        "peak_rss_bytes": max(cell["max_rss_bytes"] for cell in cells),
        "end_rss_bytes": max(cell["end_rss_bytes"] for cell in cells),
        "step_ms": statistics.median(ms for record in records for ms in record["step_ms"]),
        "step_ms_rounds": (min(steps), max(steps)),
    }


def rows_of(records):
    groups = {}
    for record in records:
        groups.setdefault((record["allocator"], record["setting"]), []).append(record)
    return [row_of(group) for group in groups.values()]


def mib(size):
    return f"{size / (1 << 20):.1f}"


def against(value, base):
    return f"{100 * (value / base - 1):+.1f} %"


def compared(name, value, base):
    change = value / base - 1
    if abs(change) < NOTICED:
        return f"{name} is within {100 * NOTICED:.0f} % of glibc's"
    return f"{name} is {100 * abs(change):.0f} % {'above' if change > 0 else 'below'} glibc's"


def verdict(rows):
    """The verdict of the figures on "use tcmalloc or jemalloc against CPU OOM"."""
    base = next((row for row in rows if row["allocator"] == "glibc" and not row["setting"]), None)
    others = [row for row in rows if row["allocator"] != "glibc" and not row["setting"]]
    if not base or base["status"] != "ok" or not all(row["status"] == "ok" for row in others):
        return "A run failed: no verdict on the advice."
    sentences = [
        f"With {row['allocator']}, "
        + ", ".join(
            compared(name, row[key], base[key])
            for name, key in (
                ("the peak", "peak_rss_bytes"),
                ("the memory left at the end", "end_rss_bytes"),
                ("and the step", "step_ms"),
            )
        )
        + "."
        for row in others
    ]
    noticed = (1 - NOTICED) * base["peak_rss_bytes"]
    holds = [row for row in others if row["peak_rss_bytes"] < noticed]
    word = (
        "helps here with " + " and ".join(row["allocator"] for row in holds)
        if holds
        else "does not help here"
    )
    return " ".join([f"By peak memory, the advice {word}.", *sentences])


def markdown(records):
    rows = rows_of(records)
    base = rows[0]
    spec = records[0]["spec"]
    steps = len(records[0].get("step_ms") or [])
    rounds = max(record["round"] for record in records)
    yield (
        f"{steps} training steps on the CPU, {spec['layers']} blocks of width {spec['d_model']}, "
        f"{spec['batch_size']} x {spec['context_length']} tokens, activations offloaded; rounds: "
        f"{rounds}. Resident memory of the whole process, libtorch's own pages included; at the "
        "end: when all memory of the run has been freed. Bytes: the larger of the rounds; time: "
        "the "
        "median of all steps, and of each round the least and the most."
    )
    yield ""
    heads = ("allocator", "setting", "peak, MiB", "against glibc", "at the end, MiB", "step, ms",
             "rounds, ms")
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        setting = f"`{row['setting']}`" if row["setting"] else ""
        if row["status"] != "ok":
            yield f"| {row['allocator']} | {setting} | {row['status']}: {row['reason']} | | | | |"
            continue
        gain = ""
        if base["status"] == "ok":
            gain = against(row["peak_rss_bytes"], base["peak_rss_bytes"])
        least, most = row["step_ms_rounds"]
        yield (
            f"| {row['allocator']} | {setting} | {mib(row['peak_rss_bytes'])} | {gain} | "
            f"{mib(row['end_rss_bytes'])} | {row['step_ms']:.1f} | {least:.1f} to {most:.1f} |"
        )
    yield ""
    yield verdict(rows)


def main(arguments):
    if arguments[0] == "mark":
        print(mark(sys.stdin.read(), *arguments[1:]))
        return
    records = [json.loads(line) for line in sys.stdin]
    if arguments[0] == "md":
        print("\n".join(markdown(records)))
        return
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow((*COLUMNS[:-1], "step_ms_least_round", "step_ms_most_round", "status"))
    for row in rows_of(records):
        plain = [row.get(name, "") for name in COLUMNS[:-1]]
        table.writerow((*plain, *row.get("step_ms_rounds", ("", "")), row["status"]))


main(sys.argv[1:])
