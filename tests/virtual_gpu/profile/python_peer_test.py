#!/usr/bin/env python3
"""The same operations in Python, under dryrun, take the memory that our C++ takes.

usage: python_peer_test.py HEADROOM PYTHON [--wide] [unittest arguments]   (PYTHON has torch; without it: skipped)

Every value of each setting with one value of the others; --wide: with every value.
"""

import itertools
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CARD = "a800-80gb"
CELL = ("--model-size", "medium", "--context-length", "256")
HAS_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
STEPS = ("--warmup-steps", "2", "--measure-steps", "1")


def some(cells, most=None):
    """All of them with --wide; else cells that have each value of every setting, at most so many of them."""
    cells = list(cells)
    if WIDE:
        return cells
    left = {(place, value) for cell in cells for place, value in enumerate(cell)}
    chosen = []
    while left:
        best = max(cells, key=lambda cell: len(left & set(enumerate(cell))))
        left -= set(enumerate(best))
        chosen.append(best)
    return chosen[:most]


def python_peaks(programs):
    """By program and its arguments; all run in forks of one process, which has imported torch."""
    texts = {program: ",".join((str(ROOT / program[0]), *program[1:], "--device", "cuda", *STEPS))
             for program in programs}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        done = subprocess.run([HEADROOM, "dryrun", "--card", CARD, "--json", path, "--", PYTHON,
                               "tests/virtual_gpu/programs/processes/in_turn.py", "--threads", *texts.values()],
                              check=True, capture_output=True, text=True, cwd=ROOT)
        processes = json.loads(path.read_text())["processes"]
    pids = {text: int(line.split()[0]) for line in done.stdout.splitlines() for text in texts.values()
            if line.endswith(f" {text}")}
    peaks = {process["pid"]: process["devices"][0]["allocator"]["peak_allocated_bytes_since_reset"]
             for process in processes}
    return {program: peaks[pids[text]] for program, text in texts.items()}


def cpp_peak(*flags):
    done = subprocess.run([HEADROOM, "profile", "--device", f"virtual:{CARD}", *flags, *STEPS,
                           "--record-steps", "0", "--format", "json"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["peak_allocated_bytes"]


def modes():
    every = itertools.product(("forward", "forward-grad", "forward-backward", "training"), ("fp32", "bf16"))
    for mode, precision in some(every):
        flags = (*CELL, "--profile-type", mode, "--precision", precision)
        yield ("studies/estimators/eager_step.py", *flags), flags


def bf16_weights():
    """Under PyTorch's own AdamW; a short context, where the update is the peak, and one where the graph is."""
    cells = itertools.product(("16", "512"), ("foreach", "fused"), ("none", "fp32"))
    for context, implementation, master in some(cells, most=1):
        cell = ("--model-size", "medium", "--context-length", context, "--profile-type", "training")
        yield (("tests/train/techniques/weights/bf16_peer.py", implementation, master, *cell),
               (*cell, "--param-dtype", "bf16", "--master-weights", master, "--optimizer-impl", implementation))


def checkpointed():
    """As torch.utils.checkpoint does it."""
    cells = itertools.product((("1", "full"), ("5", "every:5")), ("fp32", "bf16"))
    for (every, flag), precision in some(cells, most=1):
        flags = (*CELL, "--profile-type", "forward-backward", "--precision", precision)
        yield (("tests/virtual_gpu/programs/checkpointed_reference.py", every, *flags), (*flags, "--recompute", flag))


class SameMemory(unittest.TestCase):
    def test_within_a_thousandth(self):
        cases = [*modes(), *bf16_weights(), *checkpointed()]
        peaks = python_peaks([program for program, _ in cases])
        for program, flags in cases:
            with self.subTest(" ".join(program)):
                theirs, ours = peaks[program], cpp_peak(*flags)
                print(*program, theirs, ours, f"{100 * (ours / theirs - 1):+.4f} %", flush=True)
                self.assertLessEqual(abs(ours / theirs - 1), 1e-3)


if __name__ == "__main__":
    HEADROOM, PYTHON = (str(Path(word).absolute()) for word in (sys.argv.pop(1), sys.argv.pop(1)))
    if subprocess.run([PYTHON, "-c", HAS_TORCH], check=False).returncode != 0:
        print(f"{PYTHON} has no torch")
        sys.exit(77)
    WIDE = "--wide" in sys.argv
    if WIDE:
        sys.argv.remove("--wide")
    unittest.main()
