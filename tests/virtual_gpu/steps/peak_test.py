#!/usr/bin/env python3
"""Theory's peak beside the virtual card's: alone within 0.1 %, combinations within 0.5 %.

usage: peak_test.py HEADROOM [--draws N] [--offloaded N] [--seed N]

First each technique alone (peak_cells.py), without draws every third. Then combinations in which every two settings that may
stand together do so, without draws every second of them: of cards, precisions, attention, recomputation, activations, optimizers,
types of parameters, micro-batches, clipping, release and offloads (step_settings.py). Then N
combinations (0) by chance, of sizes and contexts too; every fourth is of a named size where N is
100 or more. Then N more (0) with something on the host or on a disk, within 0.1 %: the peak of the
card, of the host's pinned and of its pageable memory, what lies on the disk and in the buffers
before it, each on a line of its own, and the bytes over the host link and to and from the disk.
Prints every cell: theory, measured, difference, where the peak is. What theory predicts of each
category is held to the byte, as in theory_test.py, and what its rows say is alive at the peak is
held against the attribution. What is refused is drawn again; a combination whose peak theory does
not say is named, and fails.
"""

import argparse
import csv
import io
import random
import subprocess
import sys
from pathlib import Path

from peak_cells import alone
from step_settings import covered, draw_run, draw_settings, is_offloaded
from theory_test import PEAK, SPACES, TRAFFIC, differences
from warm_cells import WarmCells, flags_of

ALONE, COMBINED, OFFLOADED = 0.001, 0.005, 0.001
WIDE = 100  # draws, from which on some are of named sizes

# Groups of theory's rows at the peak, by the attribution's categories: what somebody claims.
CLAIMED = {"parameters": "parameters", "master_weights": "master weights",
           "gradients": "gradients", "optimizer_state": "optimizer state",
           "cast_cache": "cast cache", "workspaces": "workspaces"}
# Flags of a step; `headroom theory` has none of a run.
OF_A_RUN = ("warmup_steps", "measure_steps")


def measure(warm, cell):
    """The Record of a cell; None of one that is refused, or whose kernel does not run there."""
    specs = warm.specs(**cell)
    if specs is None:
        return None
    record = warm.run(specs[0])
    return None if record["status"] == "unsupported" else record


def alive_at_the_peak(headroom, cell):
    """Bytes of each group of the table, as `headroom theory` prints it; what all requested."""
    step = {name: value for name, value in cell.items() if name not in OF_A_RUN}
    done = subprocess.run([headroom, "theory", "--format", "csv", *flags_of(step)],
                          capture_output=True, text=True, check=True)
    groups = dict.fromkeys(CLAIMED.values(), 0)
    requested = 0
    for title, row, column, value in csv.reader(io.StringIO(done.stdout)):
        group = row.split(" / ")[0]
        if not title.startswith("Alive at the peak") or column != "size_bytes":
            continue
        if group in groups:
            groups[group] += int(value)
        if group not in ("allocator rounding", "sum"):
            requested += int(value)
    return groups, requested


def peak_differences(headroom, cell, record):
    """Lines: what theory's rows say is alive at the peak, and what the attribution says.

    Of steps that repeat each other, which `headroom theory` is about; where another instant is
    nearly as full, the recorded step may have its peak there. The attribution is of the instant
    where most is requested, theory's rows of the one where the allocator's blocks hold most; where
    these hold what was measured and more is requested at another, the two are not of one instant.
    """
    if cell["warmup_steps"] == 0 or record["recorded_peak"]["allocated_bytes"] != record[PEAK]:
        return []
    theory, requested = alive_at_the_peak(headroom, cell)
    if (record["predicted"][PEAK] == record[PEAK] and
            requested < record["recorded_peak"]["requested_bytes"]):
        return []
    measured = record["categories_at_peak_bytes"]
    return [f"at the peak, {group}: theory {theory[group]}, measured {measured.get(category, 0)}"
            for category, group in CLAIMED.items() if theory[group] != measured.get(category, 0)]


def judge(headroom, cell, record, allowed):
    """The verdict on a Record against theory, None if it does not fit the card; its line."""
    if record["status"] == "oom":
        return None, "does not fit, left out"
    # A forward without gradients keeps nothing, and nothing is measured of it.
    wrong = [] if record["spec"]["profile_type"] == "forward" else differences(record)
    if record["status"] != "ok":
        return False, wrong[0]
    if PEAK not in record["predicted"]:
        return False, "theory predicts no peak of this"
    theory, measured = record["predicted"][PEAK], record[PEAK]
    off = (theory - measured) / measured
    line = f"{theory:>14} {measured:>14} {100 * off:+9.4f} %  {record['peak_phase']}"
    if abs(off) > allowed:
        wrong.append(f"the peak is beyond {100 * allowed} %")
    wrong += peak_differences(headroom, cell, record)
    return not wrong, "; ".join([line, *wrong])


def drawn(warm, draw, draws, wide, wanted=lambda cell: True):
    """Cells with their Records; what is refused, or not wanted, is drawn again."""
    refused = 0
    for number in range(draws):
        named = wide and number % 4 == 0
        run = draw_run(draw, named)
        record = None
        while record is None:
            cell = draw_settings(draw, run)
            if not wanted(cell):
                run = draw_run(draw, named)
                continue
            record = measure(warm, cell)
            refused += record is None
        yield cell, record
    print(f"{refused} draws were refused")


def measured_beside(record):
    """Memory of a step outside the card: name, bytes by theory, bytes measured."""
    predicted = record["predicted"]
    for name, space in SPACES.items():
        if name in predicted:
            yield space, predicted[name], record["spaces"][space]["peak_allocated_bytes"]
    for name in TRAFFIC:
        way = name.removesuffix("_bytes")
        if name in predicted:
            yield way, predicted[name], record["host_traffic_bytes"][way]


def of_the_host(record):
    """Lines: each memory and each way beside what theory predicts of it; the largest difference."""
    lines, largest = [], 0
    for name, theory, measured in measured_beside(record):
        off = (theory - measured) / measured if measured else float(theory != 0)
        largest = max(largest, abs(off))
        lines.append(f"{theory:>14} {measured:>14} {100 * off:+9.4f} %  {name}")
    return lines, largest


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("headroom")
    parser.add_argument("--draws", type=int, default=0)
    parser.add_argument("--offloaded", type=int, default=0)
    parser.add_argument("--seed", type=int, default=12)
    asked = parser.parse_args()
    headroom = str(Path(asked.headroom).resolve())
    wide = asked.draws >= WIDE
    failed = held = unknown = 0
    largest = 0  # difference of what is not on the card
    print(f"seed {asked.seed}\n{'theory':>14} {'measured':>14} {'difference':>11}  phase")

    def show(cell, record, allowed):
        nonlocal failed, held, unknown, largest
        good, line = judge(headroom, cell, record, allowed)
        lines, off = of_the_host(record) if record["status"] == "ok" else ([], 0)
        good = good and off <= OFFLOADED
        largest = max(largest, off)
        held += good is True
        failed += good is False
        unknown += record["status"] == "ok" and PEAK not in record["predicted"]
        print(f"{line}  {record['spec']['device']} {record['name']}", *lines, sep="\n", flush=True)

    with WarmCells(headroom) as warm:
        for cell in list(alone(wide))[:: 1 if asked.draws else 3]:
            show(cell, measure(warm, cell), ALONE)
        for cell in list(covered())[:: 1 if asked.draws else 2]:
            show(cell, measure(warm, cell), OFFLOADED if is_offloaded(cell) else COMBINED)
        for cell, record in drawn(warm, random.Random(asked.seed), asked.draws, wide):
            show(cell, record, OFFLOADED if is_offloaded(cell) else COMBINED)
        draw = random.Random(asked.seed + 1)
        for cell, record in drawn(warm, draw, asked.offloaded, wide, is_offloaded):
            show(cell, record, OFFLOADED)
    print(f"{held} of {held + failed} peaks are as theory says; it says none of {unknown}; "
          f"beside the card it is {100 * largest:.4f} % off at most")
    return 1 if failed or not held else 0


if __name__ == "__main__":
    sys.exit(main())
