#!/usr/bin/env python3
"""headroom fit --vary on a script of torch: the largest batch that runs, and what settings of the allocator change;
headroom dryrun --try-advice says the same where memory ran out.

usage: vary_test.py HEADROOM

Runs under the Python whose torch the script uses; without one it is skipped (77).
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import at_night  # noqa: E402

HEADROOM = str(Path(sys.argv[1]).absolute())
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
SCRIPT = [sys.executable, str(PROGRAMS / "processes" / "quick_end.py"), str(PROGRAMS / "train_batches.py")]


def fit(vary, *flags):
    words = [HEADROOM, "fit", "--card", "rtx4090", "--bytes", "2GiB", "--vary", vary, "--format", "json", "--",
             *SCRIPT, "--batch-size", "{batch}", *flags]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def rows(done):
    return [list(row.values()) for row in json.loads(done.stdout)["rows"]]


class Vary(unittest.TestCase):
    def test_the_largest_batch_is_found_and_the_setting_that_reaches_further(self):
        # 1,664 MiB beside the context: 400 a sequence with free memory in pieces, 200 without.
        done = fit("batch=4..5")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [(row[0], row[1]) for row in rows(done)]
        self.assertEqual(found, [("as it is", 4), ("expandable_segments:True", 5)])
        self.assertIn("out of memory, 1000.000 MiB wanted at ", rows(done)[0][-1])
        self.assertIn("train_batches.py", rows(done)[0][-1])
        self.assertIn("the range ends", rows(done)[1][-1])

    @at_night  # by day: a program of the shell, tests/virtual_gpu/plans/fit_test.py
    def test_a_batch_that_the_script_refuses_is_told_apart(self):
        done = fit("batch=2..3", "--even-only")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("failed for another reason than memory: batch 3: exit code 1: batch size 3 "
                      "is odd", done.stderr)

    @at_night  # by day: tests/virtual_gpu/plans/fit_test.py
    def test_advice_is_only_what_was_tried_and_fits(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "run.json"
            words = [HEADROOM, "dryrun", "--card", "rtx4090", "--bytes", "2GiB", "--try-advice", "--vary", "batch=4..5",
                     "--json", str(report), "--", *SCRIPT, "--batch-size", "{batch}"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            advice = json.loads(report.read_text())["advice"]
        self.assertEqual(done.returncode, 1, done.stderr)  # the program's own
        self.assertIn("out of memory on device 0: 1000.000 MiB wanted", done.stderr)
        fits = [line for line in done.stderr.splitlines() if line.startswith("fits with ")]
        self.assertEqual([line.rsplit(":", 1)[0] for line in fits],
                         ["fits with --alloc-conf expandable_segments:True",
                          "fits with --alloc-conf max_split_size_mb:128", "fits with batch 4"])
        self.assertTrue(all(line.endswith(" reserved") for line in fits), fits)
        self.assertEqual((advice["runs"], len(advice["fits"]), advice["was_stopped"]), (5, 3, False))


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
