#!/usr/bin/env python3
"""The path of a real card (--device cuda) on a machine without one.

headroom runs under `headroom dryrun`, which stands in for the card below it. Its Records are those
of --device virtual:CARD, byte for byte.

usage: real_path_test.py HEADROOM HEADROOM_BENCH [--drivers]

--drivers: run_all.sh and gpu_suite.sh instead.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM, BENCH = (str(Path(word).resolve()) for word in sys.argv[1:3])
ROOT = Path(__file__).resolve().parents[3]
CARD = "h100-80gb"
CELL = ["--model-size", "small", "--context-length", "128", "--batch-size", "2"]
CELL += ["--profile-type", "training", "--warmup-steps", "1", "--measure-steps", "2"]
CELL += ["--format", "json"]
SAME = [
    "status",
    "peak_allocated_bytes",
    "peak_reserved_bytes",
    "peak_requested_bytes",
    "phases",
    "categories_at_peak_bytes",
    "saved_bytes",
    "predicted",
]


def run(*words, card=None, **more):
    before = [HEADROOM, "dryrun", "--card", card, "--"] if card else []
    return subprocess.run([*before, *words], capture_output=True, text=True, check=False, **more)


@unittest.skipIf("--drivers" in sys.argv, "the drivers alone")
class RealPath(unittest.TestCase):
    def test_a_profile_is_that_of_the_virtual_card(self):
        real = run(HEADROOM, "profile", *CELL, "--device", "cuda", card=CARD)
        self.assertEqual(real.returncode, 0, real.stderr)
        virtual = run(HEADROOM, "profile", *CELL, "--device", f"virtual:{CARD}")
        self.assertEqual(virtual.returncode, 0, virtual.stderr)
        records = [json.loads(done.stdout) for done in (real, virtual)]
        for key in SAME:
            with self.subTest(key):
                self.assertEqual(records[0][key], records[1][key])
        self.assertEqual(records[0]["environment"]["device"], records[1]["environment"]["device"])

    def test_the_benchmark_program_times_steps(self):
        done = run(
            BENCH,
            "--model-size",
            "small",
            "--context-length",
            "128",
            "--device",
            "cuda",
            "--benchmark_min_time=0.01",
            "--benchmark_format=json",
            card=CARD,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("built as DEBUG", done.stderr)
        benchmarks = json.loads(done.stdout)["benchmarks"]
        self.assertGreater(len(benchmarks), 0)
        self.assertFalse(any(one.get("error_occurred") for one in benchmarks), benchmarks)

    def test_a_program_that_holds_a_cuda_runtime_is_still_refused(self):
        with tempfile.TemporaryDirectory() as scratch:
            program = Path(scratch, "static")
            program.write_bytes(
                Path("/bin/true").read_bytes() + b"libcuda.so.1\0cudaErrorMemoryAllocation\0"
            )
            program.chmod(0o755)
            done = run(str(program), card=CARD)
        self.assertEqual(done.returncode, 2)
        self.assertIn("statically linked CUDA runtime", done.stderr)


@unittest.skipUnless("--drivers" in sys.argv, "of the night")
class Drivers(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.environment = {**os.environ, "HEADROOM_BIN": HEADROOM, "MODEL_SIZE": "small"}

    def test_run_all(self):
        done = run(
            "bash",
            "scripts/run_all.sh",
            "--device",
            "cuda",
            "--contexts",
            "128",
            "--output-dir",
            self.folder,
            card=CARD,
            cwd=ROOT,
            env=self.environment,
        )
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertNotIn("No such file", done.stderr)

    def test_gpu_suite(self):
        done = run(
            "bash",
            "scripts/gpu_suite.sh",
            "--quick",
            "--real",
            "cuda",
            "--virtual",
            f"virtual:{CARD}",
            "--output-dir",
            self.folder,
            card=CARD,
            cwd=ROOT,
            env=self.environment,
        )
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
