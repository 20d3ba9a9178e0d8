#!/usr/bin/env python3
"""The same operations in Python, under dryrun, take the memory that our C++ takes.

usage: python_peer_test.py HEADROOM PYTHON [unittest arguments]   (PYTHON has torch; without it: skipped)
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CARD = "a800-80gb"
CELL = ("--model-size", "medium", "--context-length", "256")


def python_peak(mode, precision):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        subprocess.run([HEADROOM, "dryrun", "--card", CARD, "--json", path, "--", PYTHON,
                        "bench/estimators/eager_step.py", *CELL, "--profile-type", mode,
                        "--precision", precision, "--device", "cuda",
                        "--warmup-steps", "2", "--measure-steps", "1"],
                       check=True, capture_output=True, cwd=ROOT)
        report = json.loads(path.read_text())
    allocator = report["processes"][0]["devices"][0]["allocator"]
    return allocator["peak_allocated_bytes_since_reset"]


def cpp_peak(mode, precision):
    done = subprocess.run([HEADROOM, "profile", "--device", f"virtual:{CARD}", *CELL, "--profile-type", mode,
                           "--precision", precision, "--warmup-steps", "2", "--measure-steps", "1",
                           "--record-steps", "0", "--format", "json"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["peak_allocated_bytes"]


class SameMemory(unittest.TestCase):
    def test_every_mode_within_a_thousandth(self):
        for mode in ("forward", "forward-grad", "forward-backward", "training"):
            for precision in ("fp32", "bf16"):
                with self.subTest(mode=mode, precision=precision):
                    theirs, ours = python_peak(mode, precision), cpp_peak(mode, precision)
                    print(mode, precision, theirs, ours, f"{100 * (ours / theirs - 1):+.4f} %", flush=True)
                    self.assertLessEqual(abs(ours / theirs - 1), 1e-3)


if __name__ == "__main__":
    HEADROOM, PYTHON = (str(Path(word).absolute()) for word in (sys.argv.pop(1), sys.argv.pop(1)))
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print(f"{PYTHON} has no torch")
        sys.exit(77)
    unittest.main()
