#!/usr/bin/env python3
"""`headroom dryrun --breakdown` of a C++ program: its owners by their bytes, the sum to the byte, the same run as
without it, and the instant at which memory runs out.

usage: cpp_breakdown_test.py HEADROOM TRAIN_CPP
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM, PROGRAM = (str(Path(path).absolute()) for path in sys.argv[1:3])
WIDTH = 1024
PARAMETERS = 4 * (2 * (WIDTH * WIDTH + WIDTH) + WIDTH)  # two linear layers and a scale
ROWS = 4 * 2048 * WIDTH


class CppBreakdown(unittest.TestCase):
    def run_dry(self, *flags):
        report = self.folder / "run.json"
        command = [HEADROOM, "dryrun", "--card", "a100-80gb", "--json", str(report), *flags, "--", PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        device = json.loads(report.read_text())["processes"][0]["devices"][0]
        counts = {key: device[key] for key in ("launches", "matrix_products", "allocator", "peak_bytes")}
        return int(done.stdout.split()[1]), counts, done.stderr

    def test_uses_are_known_and_sum_to_the_peak_and_nothing_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            peak, before, _ = self.run_dry()
            uses = self.folder / "uses.json"
            again, after, text = self.run_dry("--breakdown", "--output", str(uses))
            process = json.loads(uses.read_text())["processes"][0]
        self.assertEqual((again, after), (peak, before))
        device = process["devices"][0]
        sizes = device["categories"]
        self.assertEqual((sum(sizes.values()), device["allocated_bytes"]), (peak, peak))
        self.assertEqual(sizes["parameters"], PARAMETERS)
        self.assertEqual(sizes["buffers"], 4 * WIDTH)
        self.assertEqual(sizes["optimizer state"], 2 * PARAMETERS)
        self.assertEqual(sizes["activations"], 2 * ROWS)  # of the first layer: its input, and tanh's output
        self.assertEqual(device["reasons"],
                         ["made outside of backward and of steps; in C++ no module says when it runs"])
        owners = {row["module"]: row["categories"] for row in device["modules"]}
        self.assertEqual(owners["torch::nn::Linear"]["parameters"], PARAMETERS - 4 * WIDTH)
        self.assertEqual(owners["torch::optim::AdamW (optimizer)"]["optimizer state"], 2 * PARAMETERS)
        self.assertEqual([(step["first"], step["last"]) for step in device["steps"][:2]], [(1, 1), (2, 3)])
        self.assertIn("AddmmBackward0", text)

    def test_where_memory_runs_out_the_uses_of_that_instant_are_known(self):
        with tempfile.TemporaryDirectory() as folder:
            uses = Path(folder) / "uses.json"
            command = [HEADROOM, "dryrun", "--card", "t4", "--bytes", "180MiB", "--breakdown", "--output", str(uses), "--",
                       PROGRAM]
            done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
            [refusal] = json.loads(uses.read_text())["processes"][0]["out_of_memory"]
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual((refusal["wanted_bytes"], refusal["where"]), (20 << 20, "PowBackward0"))  # a segment
        sizes = refusal["categories"]
        self.assertEqual(sum(sizes.values()), refusal["allocated_bytes"])
        self.assertEqual((sizes["parameters"], sizes["buffers"]), (PARAMETERS, 4 * WIDTH))
        self.assertEqual(sizes["temporaries"], ROWS)  # a gradient
        self.assertIn("wanted at PowBackward0", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
