#!/usr/bin/env python3
"""Kernels that tune themselves under `headroom dryrun`: the first is taken, which is said once.

usage: autotune_test.py HEADROOM
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "cuda/autotuned.py"


class Autotune(unittest.TestCase):
    def test_the_first_choice_is_taken_and_nothing_is_timed(self):
        with tempfile.TemporaryDirectory() as scratch:
            cold = {
                **os.environ,
                "TORCHINDUCTOR_CACHE_DIR": f"{scratch}/inductor",
                "TRITON_CACHE_DIR": f"{scratch}/triton",
            }
            done = subprocess.run(
                [sys.argv[1], "dryrun", "--card", "h100-80gb", "--", sys.executable, str(PROGRAM)],
                env=cold,
                capture_output=True,
                text=True,
                check=False,
            )
            descended = list(Path(scratch).rglob("triton_poi_fused_add_relu_0.cubin"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("torch.Size([256, 256])\n128\n", done.stdout)
        self.assertEqual(
            done.stderr.count("headroom dryrun: autotuning takes the first kernel that runs"),
            1,
            done.stderr,
        )
        self.assertNotIn("AUTOTUNE", done.stderr + done.stdout)
        self.assertLessEqual(len(descended), 2, "of two configurations, coordinate descent built the neighbours too")


if __name__ == "__main__":
    if importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
