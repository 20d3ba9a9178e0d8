#!/usr/bin/env python3
"""`headroom dryrun --route`: the experts of a virtual run get the rows, and autograd keeps the bytes, of a
run on the CPU with the same selection forced, whatever way a library computes sizes of the selection.

usage: route_test.py HEADROOM

Runs under the Python whose torch the programs use; without one it is skipped (77). transformers is
tried where it is.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM = str(Path(sys.argv[1]).absolute())
PROGRAM = str(Path(__file__).resolve().parents[1] / "programs" / "experts.py")
LIBRARIES = "masks,counts"
if importlib.util.find_spec("transformers") is not None:
    LIBRARIES += ",eager,grouped_mm"
SOON = 240  # seconds


def output(command, code=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False)
    assert done.returncode == code, done.stderr + done.stdout
    return done


class Route(unittest.TestCase):
    def run_dry(self, flags, *words, code=0):
        return output([HEADROOM, "dryrun", "--card", "h100-80gb", *flags, "--", sys.executable, *words], code)

    def test_each_rule_agrees_with_the_truth(self):
        rules = {"balanced": "masks rows" + " 1024" * 32 + " saved",
                 "worst": "masks rows 16384 16384" + " 0" * 30 + " saved"}
        command = [sys.executable, PROGRAM, LIBRARIES, "--forced", *rules]
        truth = output(command).stdout.splitlines(keepends=True)
        lines = len(truth) // len(rules)
        for i, (rule, expected) in enumerate(rules.items()):
            done = self.run_dry(["--route", rule], PROGRAM, LIBRARIES)
            self.assertEqual(done.stdout, "".join(truth[i * lines:(i + 1) * lines]))
            self.assertIn(expected, done.stdout)
            self.assertNotIn("peak may be wrong", done.stderr)
            self.assertRegex(done.stderr, rf"experts by --route {rule}: \d+ calls of torch.topk were answered")

    def test_a_seed_draws_and_draws_the_same_in_backward(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "run.json"
            seven = self.run_dry(["--route", "7", "--json", str(report)], PROGRAM, "checkpointed").stdout.split()
            document = json.loads(report.read_text())
        self.assertEqual((document["route"], document["selections"]), ("7", 2))
        rows = [int(word) for word in seven[2:-2]]
        self.assertEqual(sum(rows[:32]), 2 * 16384)
        self.assertEqual(rows[:32], rows[32:])  # made again by backward
        self.assertGreater(len(set(rows)), 8)

    def test_a_rule_that_nothing_used_is_said(self):
        done = self.run_dry(["--route", "balanced"], "-c", "import torch; torch.ones(1, device='cuda')")
        self.assertIn("--route balanced was never used", done.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("skipped: no torch here")
        sys.exit(77)
    os.environ["OMP_NUM_THREADS"] = "1"
    unittest.main(argv=sys.argv[:1])
