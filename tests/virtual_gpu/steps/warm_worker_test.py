#!/usr/bin/env python3
"""A warm worker's Record is that of a new process, byte for byte.

usage: warm_worker_test.py HEADROOM [--every N] [--pairs N] [--seed S] [--alloc-conf CONF] [ROW...]

Every row of the technique contract runs in a process of its own, and in one `headroom-cell --serve`
after all rows before it. Each row is two cells: one that runs out of memory in the middle of a step,
and one that fits. Beside them: other modes, a longer run, another number of threads.
--every: of the contract's rows every N-th alone. --pairs: then N drawn pairs of cells run one after
the other in the same worker, so that each cell meets many predecessors; the seed is printed.
--alloc-conf: all cells have it, and the worker is started with it. What differs by nature is left out of the comparison:
the time, the process's number, its seconds and its resident memory.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from contract_test import CONTEXT, CONTEXT_IN_16S, DEVICE, ROWS, SHAPE, TOO_LONG
from warm_cells import Worker, alone, environment_of_a_cell

# Beside the rows: what a process keeps that a technique does not touch.
OTHERS = {
    "forward": {"profile_type": "forward"},
    "forward in bf16": {"profile_type": "forward", "precision": "bf16"},
    "forward and backward": {"profile_type": "forward-backward"},
    "generation": {"profile_type": "generate", "context_length": "64", "response_len": "8"},
    "one thread": {"profile_type": "training", "threads": "1"},
    "many steps": {"profile_type": "training", "measure_steps": "4", "record_steps": "2"},
}
OF_THE_PROCESS = ("pid", "max_rss_bytes", "end_rss_bytes")


def specs(headroom, settings):
    """The specs of a row's cells."""
    in_16s = settings.get("precision") == "fp8"
    axes = {"model_size": "custom", "device": DEVICE, "profile_type": "training", **SHAPE,
            "context_length": f"{TOO_LONG},{CONTEXT_IN_16S if in_16s else CONTEXT}", **settings}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in axes.items()]
    listed = subprocess.run([headroom, "sweep", *flags, "--dry-run", "--format", "jsonl"],
                            check=True, capture_output=True, text=True).stdout
    return [json.loads(line)["spec"] for line in listed.splitlines()]


def comparable(line):
    """The Record without what differs by nature; the line itself where it is none."""
    record = json.loads(line)
    if "environment" not in record:
        return line
    record["environment"].pop("time_utc")
    for name in OF_THE_PROCESS:
        record["environment"]["cell"].pop(name)
    return json.dumps(record, sort_keys=True)


def first_difference(one, other):
    place = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return f"new: ...{one[max(0, place - 60):place + 60]}... warm: ...{other[max(0, place - 60):place + 60]}..."


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("headroom")
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--alloc-conf", default="")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    headroom = str(Path(arguments.headroom).resolve())
    cell = str(Path(headroom).with_name("headroom-cell"))
    contract = json.loads(ROWS.read_text(encoding="utf-8"))["rows"]
    settings = {row["name"]: row["settings"] for row in contract[::arguments.every]} | OTHERS
    if arguments.rows:
        settings = {name: settings[name] for name in arguments.rows}
    if arguments.alloc_conf:
        settings = {name: {**of_row, "alloc_conf": arguments.alloc_conf} for name, of_row in settings.items()}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of_a_cell(headroom, DEVICE, folder, arguments.alloc_conf)
        cells = [(name, spec) for name, of_row in settings.items() for spec in specs(headroom, of_row)]
        expected = [comparable(alone(cell, environment, spec)) for _, spec in cells]
        worker = Worker(cell, environment)

        def compare(place, after):
            nonlocal wrong
            line = worker.ask(cells[place][1])
            got = comparable(line) if line else "the worker ended"
            if got == expected[place]:
                return
            wrong += 1
            context = cells[place][1]["context_length"]
            print(f"{cells[place][0]}, context {context}, after {after}: "
                  f"{first_difference(expected[place], got)}", flush=True)

        for place in range(len(cells)):
            compare(place, cells[place - 1][0] if place else "nothing")
        draw = random.Random(arguments.seed)
        for _ in range(arguments.pairs):
            first, second = draw.randrange(len(cells)), draw.randrange(len(cells))
            compare(first, "the pair before")
            compare(second, cells[first][0])
        ended = worker.end()
    print(f"{worker.cells} cells in one worker, {wrong} differ from a new process; "
          f"{arguments.pairs} pairs of seed {arguments.seed}")
    return 1 if wrong or ended or not worker.cells else 0


if __name__ == "__main__":
    sys.exit(main())
