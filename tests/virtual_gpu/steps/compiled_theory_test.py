#!/usr/bin/env python3
"""Rows of theory of compiled kernels: their sums are the measured bytes, with every technique.

usage: compiled_theory_test.py HEADROOM

Compiles two regions, by day only if their sources have changed. At night also operations, and the regions of the other
precisions and of the CPU.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import theory_test

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, at_night, share_by_day  # noqa: E402

HEADROOM = Path(sys.argv[1]).resolve()
MODEL = ("--model-size", "custom", "--d-model", "128", "--d-ff", "320", "--heads", "4", "--layers", "5",
         "--vocab-size", "1000", "--context-length", "64", "--kernels", "compiled", "--attention", "sdpa")
TECHNIQUES = (
    ("--profile-type", "forward-backward"), (), ("--optimizer-impl", "fused"), ("--activations", "offload:min=0"),
    ("--recompute", "full"), ("--recompute", "every:2"), ("--release-gradients",), ("--optimizer-offload", "cpu"),
    ("--max-grad-norm", "1"), ("--micro-batches", "2", "--batch-size", "8"),
)
# Their own arithmetic is compiled too, half a minute each: compiled_operations_test compiles one by day.
OPERATIONS = (
    ("--optimizer", "lion"), ("--optimizer", "adam-mini"), ("--optimizer", "adam8bit"),
    ("--activations", "int8:min=0"), ("--activations", "fp8:min=0"),
    ("--recompute", "blocks:40%", "--activations", "int8:min=0"),
)


class CompiledTheory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.environment = {**os.environ}
        if IS_NIGHT or "XDG_CACHE_HOME" not in os.environ:  # CTest keeps one in the build folder by day
            cls.environment["XDG_CACHE_HOME"] = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.environment.pop("LIBRARY_PATH", None)  # the compiler finds the driver without it

    def run_command(self, *words):
        done = subprocess.run([HEADROOM, *words, "--format", "json"], capture_output=True, text=True,
                              env=self.environment, check=False)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        return json.loads(done.stdout)

    def check(self, *where):
        for technique in (*share_by_day(TECHNIQUES), *(OPERATIONS if IS_NIGHT else ())):
            mode = () if "--profile-type" in technique else ("--profile-type", "training")
            with self.subTest(" ".join((*where, *technique))):
                record = self.run_command("profile", *MODEL, *where, *mode, *technique, "--warmup-steps", "2",
                                          "--measure-steps", "1", "--stacks", "none")
                self.assertEqual(theory_test.differences(record), [])
                self.assertGreater(record["predicted"]["parameters"], 0)

    def test_rows_are_the_measured_bytes_on_a_virtual_card(self):
        self.check("--device", "virtual:h200", "--precision", "bf16")

    def test_the_report_lists_what_the_compilers_split_keeps(self):
        tables = self.run_command("theory", *MODEL, "--device", "virtual:h200", "--precision", "bf16")
        block = next(table for table in tables if table["title"] == "Kept for backward by one block")
        kept = {row["tensor"] for row in block["rows"]}
        self.assertLessEqual({"x_BSD", "aten.mm.default", "aten.rsqrt.default", "output_BSD"}, kept)
        totals = next(table for table in tables if table["title"].startswith("Totals per mode"))
        self.assertNotIn("forward-grad", json.dumps(totals["rows"]))

    @at_night
    def test_in_other_precisions_and_on_the_cpu(self):
        self.check("--device", "virtual:a100-80gb", "--precision", "fp32")
        self.check("--device", "virtual:h200", "--param-dtype", "bf16", "--master-weights", "fp32")
        self.check("--device", "cpu", "--precision", "bf16")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
