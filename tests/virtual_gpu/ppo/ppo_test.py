#!/usr/bin/env python3
"""Iterations of PPO and GRPO on virtual cards: what is computed of each phase is what is measured.

usage: ppo_test.py HEADROOM

Some of the set-ups of studies/ppo/ppo_tables.sh, run anew, and all of them as they are committed.
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

HEADROOM = sys.argv[1]
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from at_night import share_by_day  # noqa: E402

TABLE = ROOT / "studies/ppo/ppo_table.py"
RECORDS = ROOT / "results/ppo/computed_beside_measured.jsonl"
ALLOWED = 0.005
LEAST_SETUPS = 20
# Each with something that the others do not have.
RUN_ANEW = (
    "small",
    "small, BF16 weights, sdpa, paged cache in FP8",
    "small, grouped heads, cache in INT8",
    "small, prefill in chunks, checkpoint full",
    "small, critic of medium, reward model",
    "small, packed under 400 tokens, 2 minibatches",
    "small, phases swapped, cache emptied",
    "small, reference and optimizers on the host",
    "small, GRPO without a reference, BF16 weights with master copies",
    "2.7B on 24 GB: GRPO, 8-bit Adam, reference on the host",
)


def printed(*arguments):
    done = subprocess.run([sys.executable, "-I", TABLE, *arguments], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def rows_of(lines):
    return {row["name"]: row for row in map(json.loads, lines.splitlines())}


class PpoTest(unittest.TestCase):
    def check_differences(self, rows):
        for name, row in rows.items():
            for phase, peaks in row["phases"].items():
                off = (peaks["computed"] - peaks["measured"]) / peaks["measured"]
                self.assertLessEqual(abs(off), ALLOWED, f"{name}, {phase}: {peaks}")

    def test_set_ups_are_as_computed_and_as_committed(self):
        names = share_by_day(RUN_ANEW)
        rows = rows_of(printed("run", HEADROOM, *names))
        self.assertEqual(set(rows), set(names))
        self.check_differences(rows)
        committed = rows_of(RECORDS.read_text(encoding="utf-8"))
        for name, row in rows.items():
            self.assertEqual(row["phases"], committed[name]["phases"], name)

    def test_what_is_committed_is_of_every_set_up_and_as_computed(self):
        rows = rows_of(RECORDS.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(rows), LEAST_SETUPS)
        self.assertEqual(list(rows), printed("names").splitlines())
        self.check_differences(rows)
        table = RECORDS.with_suffix(".md").read_text(encoding="utf-8")
        self.assertEqual(printed("table", RECORDS).rstrip(), table.rstrip())

    def test_a_flag_that_is_not_in_the_computation_is_named(self):
        command = [HEADROOM, "ppo", "--model-size", "small", "--layers", "2", "--context-length",
                   "32", "--batch-size", "2", "--top-k", "5", "--device", "virtual:h100-80gb"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertIn("not in the computation: --top-k", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
