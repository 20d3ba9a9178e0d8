#!/usr/bin/env python3
"""Snapshots of a real card beside ours: the table says what is the same and what differs.

usage: snapshots_test.py, from the top of the tree
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SNAPSHOTS = Path("studies/published/snapshot_table.py").resolve()
QUANTITIES = ("events", "segments", "reserved bytes", "peak of live bytes")


def comparison(title: str, mine: int) -> str:
    rows = [f"{title},{name},{side},{mine if side == 'B' else 1024}" for name in QUANTITIES for side in "AB"]
    return "\n".join(["table,row,column,value", *rows, f'"Live memory, by line",a.py:1 f,A bytes,{mine}', ""])


class Snapshots(unittest.TestCase):
    def run_on(self, *words: object) -> str:
        command = [sys.executable, "-IS", str(SNAPSHOTS), *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def test_equal_snapshots_have_one_figure_and_others_have_both(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            listed = [{"folder": "forward", "context": context, "words": "--more"} for context in (128, 256)]
            (folder / "p.json").write_text(json.dumps({"source": "S", "snapshots": listed}))
            self.assertEqual(self.run_on("list", folder / "p.json"), "forward\t128\t--more\nforward\t256\t--more\n")
            lines = ""
            for context, title, mine in ((128, "The snapshots are equal", 1024), (256, "The snapshots differ", 2048)):
                (folder / "csv").write_text(comparison(title, mine))
                lines += self.run_on("read", "forward", context, "2.6.0", folder / "csv")
            (folder / "rows").write_text(lines)
            text = self.run_on("table", folder / "p.json", folder / "rows")
        self.assertIn("| forward, context 128 | 2.6.0 | 1,024 | 1,024 | 1,024 | 1,024 | all the same |", text)
        self.assertIn("| forward, context 256 | 2.6.0 | 1,024, ours 2,048 |", text)
        self.assertIn("| differ |\n\nS\n", text)


if __name__ == "__main__":
    unittest.main()
