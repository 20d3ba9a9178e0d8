#!/usr/bin/env python3
"""The contract of docs/step/techniques.md on a virtual card: every row of contract.json keeps it.

usage: contract_test.py HEADROOM [--wide] [ROW...]      Of the rows that combine techniques every second.

Each row is one sweep on a small H200: a context that is out of memory in the middle of a step, then
one that fits. The first is a row with the status oom and the second is as theory says: every
category to the byte, and the peak, where theory predicts one, within 0.1 %. Values:
tests/train/techniques/contract_test.cpp. --wide: all rows in every precision, not in the last alone.
"""

import json
import sys
from pathlib import Path

from theory_test import PEAK, differences, sweep
from warm_cells import WarmCells

ALLOWED = 0.001
ROWS = Path(__file__).resolve().parents[2] / "train/techniques/contract.json"
# Like tests/train/techniques/contract.cpp, with more words.
SHAPE = {"d_model": "64", "d_ff": "96", "layers": "3", "heads": "4", "vocab_size": "500",
         "batch_size": "4", "warmup_steps": "2"}
DEVICE = "virtual:h200,bytes=1GiB"
TOO_LONG, CONTEXT = "65536", "33"
CONTEXT_IN_16S = "48"  # of FP8 products


def peak_difference(record):
    """The fault of the peak; None where theory predicts none."""
    if PEAK not in record["predicted"]:
        return None
    theory, measured = record["predicted"][PEAK], record[PEAK]
    off = abs(theory - measured) / measured
    return "" if off <= ALLOWED else f"peak: theory {theory}, measured {measured}"


def judge(records, precisions, context):
    """Lines of what is wrong in a row's sweep; in how many of its cells theory predicts the peak."""
    wrong = []
    peaks = 0
    contexts = [str(record["spec"]["context_length"]) for record in records]
    if sorted(contexts) != sorted([TOO_LONG, context] * len(precisions)):
        return [f"contexts {contexts}"], 0
    for record in records:
        if str(record["spec"]["context_length"]) == TOO_LONG:
            moment = record.get("out_of_memory") or {}
            if record["status"] != "oom" or "step" not in moment.get("during", ""):
                wrong.append(f"not out of memory in a step: {record['status']} {record['reason']}")
            continue
        found = differences(record)
        peak = peak_difference(record) if record["status"] == "ok" else None
        peaks += peak is not None
        wrong += found + ([peak] if peak else [])
    return wrong, peaks


def main():
    headroom = str(Path(sys.argv[1]).resolve())
    wide = "--wide" in sys.argv
    asked = [word for word in sys.argv[2:] if word != "--wide"]
    rows = json.loads(ROWS.read_text(encoding="utf-8"))["rows"]
    if not wide and not asked:
        rows = [row for row in rows if not row.get("at_night")]
        combined = [row for row in rows if "_with_" in row["name"]]
        rows = [row for row in rows if row not in combined[1::2]]
    failed = cells = peaks = 0
    with WarmCells(headroom) as warm:
        for row in rows:
            precisions = row.get("card", ["fp32", "bf16"])[0 if wide else -1:]
            if asked and row["name"] not in asked:
                continue
            in_16s = row["settings"].get("precision") == "fp8"
            context = CONTEXT_IN_16S if in_16s else CONTEXT
            axes = {"device": DEVICE, "profile_type": "training",
                    "precision": ",".join(precisions), **SHAPE,
                    "context_length": f"{TOO_LONG},{context}", **row["settings"]}
            wrong, said = judge(sweep(warm, **axes), precisions, context)
            cells += len(precisions)
            peaks += said
            failed += bool(wrong)
            for line in wrong:
                print(f"{row['name']}: {line}", flush=True)
            print(f"{row['name']}: {'fails' if wrong else 'ok'}, theory predicts the peak of {said} of "
                  f"{len(precisions)}", flush=True)
    print(f"{cells} cells, the peak of {peaks} within {100 * ALLOWED} % of theory's")
    return 1 if failed or not cells else 0


if __name__ == "__main__":
    sys.exit(main())
