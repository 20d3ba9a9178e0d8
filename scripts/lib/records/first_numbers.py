"""The results of run_all.sh, read from its files: the three numbers to read first, and the next command.

usage: first_numbers.py FOLDER MODEL_SIZE HEADROOM
A number whose file is not in FOLDER is left out. Exit code 0.
"""

import json
import sys
from pathlib import Path

GIB = 1 << 30


def records_of(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def peak_of(record):
    return record.get("peak_allocated_bytes") if record["status"] == "ok" else None


def words_of(record):
    spec = record["spec"]
    return (f"{spec['model_size']}, {spec['profile_type']}, context {spec['context_length']}, "
            f"batch {spec['batch_size']}, {spec['precision'].upper()}, {spec['device']}")


def largest_peak(records):
    peaks = [record for record in records if peak_of(record)]
    if not peaks:
        return
    largest = max(peaks, key=peak_of)
    phase = f", in the phase {largest['peak_phase']}" if largest.get("peak_phase") else ""
    yield f"largest peak   {peak_of(largest) / GIB:.2f} GiB{phase} ({words_of(largest)})"


def mixed_precision(records):
    """BF16 autocast against FP32, a line for each mode."""
    by_precision = {}
    for record in records:
        if peak_of(record):
            spec = record["spec"]
            by_precision[(spec["profile_type"], spec["precision"])] = record
    changes = []
    for (mode, precision), record in by_precision.items():
        other = by_precision.get((mode, "bf16"))
        if precision == "fp32" and other:
            before, after = peak_of(record), peak_of(other)
            changes.append(f"{mode} {before / GIB:.2f} -> {after / GIB:.2f} GiB ({after / before - 1:+.1%})")
    if changes:
        yield "BF16 autocast  " + ", ".join(changes)


def what_fits(path):
    """The first answer of `headroom fit`: the cheapest set of techniques with which the step fits the card."""
    if not path.exists():
        return
    document = json.loads(path.read_text(encoding="utf-8"))
    asked, card = document["asked"], document["card"]["name"]
    run = f"training {asked['model_size']}, batch {asked['batch_size']}, context {asked['context_length']}"
    if document["answers"]:
        first = document["answers"][0]
        names = ", ".join(first["names"]) or "no technique"
        yield f"what fits      {run} on {card}: {first['peak_allocated_bytes'] / GIB:.2f} GiB with {names}"
    else:
        yield f"what fits      {run} does not fit {card}"


def look_further(folder, size, headroom):
    snapshots = {int(path.name.split("_ctx")[1].split("_")[0]): path
                 for path in folder.glob(f"{size}_ctx*_training_snapshot.pickle")}
    if snapshots:
        yield f"look further   {headroom} snapshot top {snapshots[max(snapshots)]}"


def main():
    folder, size, headroom = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    peaks = records_of(folder / "peak_memory_summary.jsonl")
    mixed = records_of(folder / "mixed_precision_memory_summary.jsonl")
    lines = [*largest_peak(peaks + mixed), *mixed_precision(mixed),
             *what_fits(folder / f"fit_{size}.json"), *look_further(folder, size, headroom)]
    for line in lines:
        print(line)


if __name__ == "__main__":
    main()
