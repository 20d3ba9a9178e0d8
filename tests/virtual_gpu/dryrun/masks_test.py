#!/usr/bin/env python3
"""`headroom dryrun` where masks and other unknown values steer, and where disks are full: every answer
is used, kept and said, and nothing that is missing is called whole.

usage: masks_test.py HEADROOM

Runs under the Python whose torch the programs use; without one it is skipped (77).
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM = str(Path(sys.argv[1]).absolute())
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
PROGRAM = PROGRAMS / "cuda/masks.py"
SOON = 240  # seconds
MOUNTED = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=4m none "$0" && exec "$@"']


def value(mark: str, numbers: str) -> str:
    lines = PROGRAM.read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if text.endswith(f"# {mark}: --value"))
    return f"masks.py:{line}={numbers}"


class Masks(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def run_dry(self, flags, *words, code=0, before=(), **environment):
        as_programs_end = "fill" in words  # on a full disk
        quick = [] if as_programs_end else [str(PROGRAMS / "processes/quick_end.py")]
        command = [*before, HEADROOM, "dryrun", "--card", "a100-80gb", *flags, "--", sys.executable, *quick,
                   str(PROGRAM), *words]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=SOON,
                              check=False, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def test_answers_are_used_and_what_is_known_is_computed(self):
        """One program with all of it: the start of each one is seconds of torch."""
        answers = {"rows": "2048", "wide": "100000", "experts": "8", "turns": "(0,4*2,7)*"}
        flags = [word for mark, numbers in answers.items() for word in ("--value", value(mark, numbers))]
        parts = "threads + backward + experts + turns + finite 4096 + large + parts + lists"
        self.assertEqual(self.run_dry(flags, *parts.split(), OMP_NUM_THREADS="4").stdout.splitlines(), [
            "threads 0 1.0",  # known values are computed by the thread that asks
            "rows 2048 2048 100000",  # a mask keeps the count that was given
            "gradients 8",  # indices of a given count are all of them
            "turns 0 4 4 7 0 4 4",  # a list of answers begins anew
            "least 1.284", "unknown 0.0",  # computed of known numbers; others are finite
            "finite True False 2457600",  # large masks of unknown numbers
            "rows 2044 sum 56 first 528",  # a part that is written leaves the rest as it was
            "lengths 3 5 0 0 0 0 0 0 places 0 1 2 3",  # an unknown tensor of a list leaves the others
        ])

    def test_answers_are_kept_in_a_file(self):
        answers = self.folder / "answers.txt"
        answers.write_text(f"# of experts\n\n  {value('experts', '8')}\n{value('turns', '3')}\n")
        done = self.run_dry(["--value-file", str(answers)], "experts")
        self.assertEqual(done.stdout, "gradients 8\n")
        self.assertIn("cuda/masks.py", done.stderr)  # the answer that nobody read
        answers.write_text("masks.py:1=0\nmasks.py=3\n")
        done = self.run_dry(["--value-file", str(answers)], "experts", code=2)
        self.assertIn(f"--value-file: '{answers}:2' has no valid answer: ", done.stderr)

    def test_an_eigendecomposition_runs_or_names_the_virtual_gpu_and_what_works(self):
        done = self.run_dry([], "eig", "cusolver", code=1)
        self.assertIn("a virtual GPU has no eigendecomposition of general matrices (torch.linalg.eig) "
                      "by cuSOLVER", done.stderr)
        self.assertNotIn("infs or NaNs", done.stderr)
        self.assertNotIn("statically linked", done.stderr)
        self.assertEqual(self.run_dry([], "eig", "magma").stdout, "vectors 1200 1200\n")

    def test_a_recording_that_the_program_ends_is_in_the_snapshot(self):
        done = self.run_dry(["--snapshot", "run.pickle"], "record_off")
        self.assertRegex(done.stderr, "snapshot: run.pickle, until the program switched its "
                                      r"recording off at .*masks.py:\d+ in record_off")
        top = subprocess.run([HEADROOM, "snapshot", "top", str(self.folder / "run.pickle")],
                             capture_output=True, text=True, check=False)
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertIn("12.000 MiB", top.stdout)

    def mounted(self, folder):
        folder.mkdir()
        probe = subprocess.run([*MOUNTED, str(folder), "true"], capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("no tmpfs here")
        return [*MOUNTED, str(folder)]

    def test_a_snapshot_that_does_not_fit_the_disk_is_an_error(self):
        disk = self.folder / "disk"
        listing = ["sh", "-c", '"$@"; code=$?; ls "$0"; exit $code', str(disk)]
        done = self.run_dry(["--snapshot", str(disk / "run.pickle")], "fill", str(disk), code=5,
                            before=[*self.mounted(disk), *listing])
        self.assertEqual(done.stdout, "full\nfull\n")  # said; the one file on the disk
        self.assertRegex(done.stderr, r"no snapshot of process \d+: cannot write .*run.\d+.pickle: "
                                      "No space left on device")
        self.assertNotIn("no Python process that used CUDA ended", done.stderr)

    def test_a_disk_that_fills_under_the_reports_is_an_error_and_a_full_one_is_not_used(self):
        disk = self.folder / "disk"
        before = self.mounted(disk)
        done = self.run_dry([], "fill", str(disk), code=5, before=before, TMPDIR=str(disk))
        self.assertRegex(done.stderr, "is not known in full: .*No space left on device")
        full = ["sh", "-c", 'head -c 4m /dev/zero > "$0/full" 2>&1; exec "$@"', str(disk)]
        done = self.run_dry([], "experts", before=[*before, *full], TMPDIR=str(disk))
        self.assertIn("Peaks on a100-80gb", done.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("skipped: no torch here")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
