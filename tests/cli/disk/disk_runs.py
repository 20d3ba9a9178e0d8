"""Runs of the real program with something of a step on a disk, for the tests of states and weights.

A test ends with main(): its last two arguments are the program and the library of a failing disk.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SHAPE = ["--model-size", "custom", "--d-model", "64", "--d-ff", "96", "--heads", "4",
         "--vocab-size", "100", "--context-length", "16", "--batch-size", "2", "--threads", "1",
         "--stacks", "none", "--warmup-steps", "0"]
programs = {}


def command(*flags, layers=2, steps=3, recorded=0, verb="profile", device="cpu", mode="training"):
    return [programs["headroom"], verb, *SHAPE, "--layers", str(layers), "--measure-steps",
            str(steps), "--record-steps", str(recorded), "--device", device, "--profile-type", mode,
            "--format", "jsonl", *flags]


def run(*flags, fault="", **options):
    """The ended process and its Records. fault: one of faulty_disk.cpp."""
    environment = dict(os.environ)
    if fault:
        environment.update(LD_PRELOAD=programs["faulty"], HEADROOM_DISK_FAULT=fault)
    done = subprocess.run(command(*flags, **options), text=True, check=False, capture_output=True,
                          env=environment)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


class OnADisk:
    """A directory for each test, and what holds of every flag that names one, FLAG."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_what_is_no_directory_is_refused_before_anything_runs(self):
        file = Path(self.folder, "file")
        file.touch()
        beside = [] if self.FLAG == "--optimizer-offload" else ["--optimizer-offload", "cpu"]
        for place, why in ((f"{self.folder}/none", "No such file or directory"),
                           (str(file), "Not a directory"), ("/proc", "")):
            for verb, device in (("profile", "cpu"), ("sweep", "cpu"), ("profile", "virtual:h200")):
                done, records = run(self.FLAG, f"nvme:{place}", *beside, device=device, verb=verb)
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertEqual(records, [])
                self.assertRegex(done.stderr, f"^headroom: cannot write {place}.*{why}\n$")


def main():
    programs["faulty"] = str(Path(sys.argv.pop()).resolve())
    programs["headroom"] = str(Path(sys.argv.pop()).resolve())
    unittest.main()
