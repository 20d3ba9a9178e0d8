#!/usr/bin/env python3
"""headroom fit --workload ppo proves its answer by running it, and the presets run.

usage: ppo_fit_test.py HEADROOM [unittest arguments]
"""

import json
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import at_night  # noqa: E402

HEADROOM = ""
PRESETS = Path(__file__).resolve().parents[3] / "scripts" / "presets"
SMALL = "--model-size small --layers 2 --prompt-len 64 --response-len 8 --batch-size 8"


def run(arguments):
    return subprocess.run([HEADROOM, *shlex.split(arguments)], capture_output=True, text=True,
                          check=False)


class Fit(unittest.TestCase):
    def test_the_answer_runs_as_it_is_printed_and_the_cheaper_one_does_not(self):
        done = run(f"fit --workload ppo --card rtx4090 --bytes 1400MiB {SMALL} --format json")
        self.assertEqual(done.returncode, 0, done.stderr)
        table = json.loads(done.stdout)
        self.assertEqual([row["phase"] for row in table["rows"]][:3],
                         ["generation", "scoring", "training"])
        command = next(note for note in table["notes"] if note.startswith("this is "))
        again = run(re.sub("^this is headroom ", "", command) + " --format json")
        self.assertEqual(again.returncode, 0, again.stderr)
        peak = max(phase["allocated_bytes"] for phase in json.loads(again.stdout)["phases"].values())
        self.assertEqual(peak, max(row["allocated_bytes"] for row in table["rows"][:3]))
        cheaper = next(note for note in table["notes"] if note.startswith("the smallest of the cheaper sets"))
        self.assertIn("out of memory", cheaper)

    def test_a_card_that_is_too_small_is_an_answer_too(self):
        done = run(f"fit --workload ppo --card rtx4090 --bytes 640MiB {SMALL} --param-dtype fp32 "
                   "--forbid param-offload,optimizer-offload")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("No set-up of an iteration fits rtx4090", done.stdout)

    def test_bad_input_is_one_line(self):
        for flags, said in ((f"--card rtx4090,h200 {SMALL}", "names several"),
                            (SMALL, "--card is needed"),
                            (f"--card h200 {SMALL} --top-p 0", "leaves no token to sample")):
            done = run(f"fit --workload ppo {flags}")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, f"^headroom: [^\n]*{said}[^\n]*\n$")


class Presets(unittest.TestCase):
    def test_each_runs_a_small_model(self):
        for name in ("memory_constrained", "balanced"):
            with self.subTest(preset=name):
                done = run(f"ppo --setup {PRESETS / name}.json {SMALL} --device virtual:h200 "
                           "--format json")
                self.assertEqual(done.returncode, 0, done.stderr)

    @at_night
    def test_the_one_of_many_gpus_is_a_plan(self):
        done = run(f"rlhf --setup {PRESETS}/multi_gpu_70b.json --format md")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("70b", done.stdout)
        self.assertIn("FITS", done.stdout)

    def test_what_is_typed_wins(self):
        done = run(f"ppo --setup {PRESETS}/balanced.json {SMALL} --device virtual:h200 "
                   "--optimizer lion --format json")
        self.assertEqual(json.loads(done.stdout)["spec"]["optimizer"], "lion")


if __name__ == "__main__":
    HEADROOM = sys.argv.pop(1)
    unittest.main()
