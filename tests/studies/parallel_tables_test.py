#!/usr/bin/env python3
"""The committed tables of the guides' meshes are what their Records say, and one of them is run again.

usage: parallel_tables_test.py HEADROOM, from the top of the tree
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

HEADROOM = sys.argv[1]
TABLE = [sys.executable, "-S", "studies/planning/parallel_table.py"]
RESULTS = Path("results/parallel")
NAMES = ("zero_7b", "guide_70b", "guide_405b")
RUN_AGAIN = 3  # of zero_7b: ZeRO-3 without masters
ADVICE = "run studies/planning/parallel_tables.sh and scripts/upkeep/update_docs.sh"


def output(*words):
    return subprocess.run([*TABLE, *words], capture_output=True, text=True, check=True).stdout


class ParallelTables(unittest.TestCase):
    maxDiff = None

    def test_tables_are_those_of_their_records(self):
        for name in NAMES:
            table = (RESULTS / f"{name}.md").read_text()
            self.assertEqual(output("show", name, RESULTS / f"{name}.jsonl").rstrip(),
                             table.rstrip(), ADVICE)

    def test_theory_has_the_peak_of_every_rank(self):
        for name in NAMES:
            for line in (RESULTS / f"{name}.jsonl").read_text().splitlines():
                for rank in json.loads(line)["ranks"]:
                    self.assertEqual(rank["allocated_bytes"], rank["predicted_bytes"], name)
                    self.assertEqual(rank["moved_bytes"], rank["predicted_moved_bytes"], name)

    def test_a_run_gives_the_committed_figures(self):
        lines = (RESULTS / "zero_7b.jsonl").read_text().splitlines()
        again = json.loads(output("run", HEADROOM, "zero_7b", str(RUN_AGAIN)))
        committed = json.loads(lines[RUN_AGAIN])
        for key in ("ranks", "phases", "peak_allocated_bytes", "categories_at_peak_bytes"):
            self.assertEqual(again[key], committed[key], f"{key}: {ADVICE}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
