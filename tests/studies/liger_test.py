#!/usr/bin/env python3
"""Liger-Kernel's tables beside ours: a figure is equal, or its distance stands there; a script's own function measures.

usage: liger_test.py, from the top of the tree
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

STUDY = Path("studies/liger").resolve()
SETTINGS = json.dumps({"B": 8, "dtype": "torch.float32"})
RUN = {
    "commit": "0", "kernel": "sum", "script": "benchmark_sum", "card": "t4", "date": "2024-09-03", "torch": "2.4.1",
    "settings": [SETTINGS], "rows": [[0, "liger", "full", "4", "32.5"], [0, "torch", "full", "4", "64.5"]], "cause": 1,
}  # fmt: skip
UTILS = """
class SingleBenchmarkRunInput:
    def __init__(self, **words):
        self.__dict__ |= words
def run_benchmarks(**_):
    raise AssertionError("times, or a table that is written")
"""
SCRIPT = """
import utils
from utils import run_benchmarks
def measured(asked):
    assert asked.extra_benchmark_config == {"B": 8, "dtype": "a type"} and asked.kernel_operation_mode == "full"
    if asked.kernel_provider == "torch":
        raise MemoryError("no room")
    result = type("", (), {})()
    result.y_50 = asked.x * 8.125
    return result
if __name__ == "__main__":
    run_benchmarks(bench_test_fn=None, kernel_name="sum", metric_name="speed")
    run_benchmarks(bench_test_fn=measured, kernel_name="sum", metric_name="memory")
    run_benchmarks(bench_test_fn=None, kernel_name="sum", metric_name="memory")
"""


class Liger(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def tables(self, *words: object) -> str:
        command = [sys.executable, "-IS", str(STUDY / "tables.py"), *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def write(self, name: str, text: str) -> Path:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)
        return self.folder / name

    def test_the_script_s_function_measures_each_row_and_a_row_that_fails_says_why(self):
        self.write("benchmark/scripts/utils.py", UTILS)
        self.write("torch/torch.py", 'float32 = "a type"\n')
        self.write("benchmark/scripts/benchmark_sum.py", SCRIPT)
        self.write("run.json", json.dumps({"name": "sum, t4, 2024-09-03", **RUN}))
        command = [sys.executable, str(STUDY / "kernel_memory.py"), str(self.folder)]
        lent = {**os.environ, "PYTHONPATH": str(self.folder / "torch")}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=lent)
        out = self.write("out", done.stdout)
        published = self.write("published.json", json.dumps({"runs": [RUN]}))
        row = json.loads(self.tables("read", published, "2.4.1", out))
        self.assertEqual(row["mib"], [32.5, "MemoryError: no room"])

    def test_the_table_counts_what_is_equal_and_names_the_largest_difference(self):
        published = self.write("published.json", json.dumps({"runs": [RUN], "causes": ["a cause"], "source": "S"}))
        rows = [("2.4.1", [32.5, 64.0]), ("2.11.0", [33.5, "no room"])]
        name = "sum, t4, 2024-09-03"
        ours = self.write(
            "ours.jsonl", "".join(json.dumps({"run": name, "torch": t, "mib": mib}) + "\n" for t, mib in rows)
        )
        text = self.tables("table", published, ours)
        self.assertIn("| 1 of 2 | -0.500 (1) | 0 of 2 | +1.000, 1 without a figure |", text)
        self.assertIn("1 of 2 figures are equal to the byte under the torch of their day; in 2.11.0 0 of 2.", text)
        self.assertIn("\n1. a cause\n\nS\n", text)
        self.assertIn("\nNot run yet: sum, t4, 2024-09-03.\n", self.tables("table", published, self.write("none", "")))


if __name__ == "__main__":
    unittest.main()
