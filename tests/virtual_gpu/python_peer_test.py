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

ROOT = Path(__file__).resolve().parents[2]
CARD = "a800-80gb"
CELL = ("--model-size", "medium", "--context-length", "256")
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


def python_peak(*program):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        subprocess.run([HEADROOM, "dryrun", "--card", CARD, "--json", path, "--", PYTHON, *program,
                        "--device", "cuda", *STEPS],
                       check=True, capture_output=True, cwd=ROOT)
        report = json.loads(path.read_text())
    allocator = report["processes"][0]["devices"][0]["allocator"]
    return allocator["peak_allocated_bytes_since_reset"]


def cpp_peak(*flags):
    done = subprocess.run([HEADROOM, "profile", "--device", f"virtual:{CARD}", *flags, *STEPS,
                           "--record-steps", "0", "--format", "json"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["peak_allocated_bytes"]


class SameMemory(unittest.TestCase):
    def assert_same(self, theirs, ours, *case):
        print(*case, theirs, ours, f"{100 * (ours / theirs - 1):+.4f} %", flush=True)
        self.assertLessEqual(abs(ours / theirs - 1), 1e-3)

    def test_every_mode_within_a_thousandth(self):
        modes = ("forward", "forward-grad", "forward-backward", "training")
        for mode, precision in some(itertools.product(modes, ("fp32", "bf16"))):
            with self.subTest(mode=mode, precision=precision):
                flags = (*CELL, "--profile-type", mode, "--precision", precision)
                theirs = python_peak("studies/estimators/eager_step.py", *flags)
                self.assert_same(theirs, cpp_peak(*flags), mode, precision)

    def test_bf16_weights_under_pytorchs_own_adamw_within_a_thousandth(self):
        # A short context, where the update is the peak, and one where the graph is.
        cells = itertools.product(("16", "512"), ("foreach", "fused"), ("none", "fp32"))
        for context, implementation, master in some(cells, most=1):
            with self.subTest(context=context, implementation=implementation, master=master):
                cell = ("--model-size", "medium", "--context-length", context,
                        "--profile-type", "training")
                theirs = python_peak("tests/train/techniques/bf16_peer.py",
                                     implementation, master, *cell)
                ours = cpp_peak(*cell, "--param-dtype", "bf16", "--master-weights", master,
                                "--optimizer-impl", implementation)
                self.assert_same(theirs, ours, "bf16 weights", context, implementation, master)

    def test_checkpointing_takes_what_torch_utils_checkpoint_takes(self):
        program = "tests/virtual_gpu/programs/checkpointed_reference.py"
        cells = itertools.product((("1", "full"), ("5", "every:5")), ("fp32", "bf16"))
        for (every, flag), precision in some(cells, most=1):
            with self.subTest(every=every, precision=precision):
                flags = (*CELL, "--profile-type", "forward-backward", "--precision", precision)
                theirs = python_peak(program, every, *flags)
                self.assert_same(theirs, cpp_peak(*flags, "--recompute", flag), flag, precision)


if __name__ == "__main__":
    HEADROOM, PYTHON = (str(Path(word).absolute()) for word in (sys.argv.pop(1), sys.argv.pop(1)))
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print(f"{PYTHON} has no torch")
        sys.exit(77)
    WIDE = "--wide" in sys.argv
    if WIDE:
        sys.argv.remove("--wide")
    unittest.main()
