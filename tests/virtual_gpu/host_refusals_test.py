#!/usr/bin/env python3
"""Host memory that offload asks for and does not get: a row with the status oom that says whose
memory it was, and the rows after it run.

usage: host_refusals_test.py HEADROOM REFUSE_PINNED.so
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MIB = 1 << 20
SHAPE = ["--model-size", "custom", "--d-model", "256", "--d-ff", "1024", "--layers", "4",
         "--heads", "4", "--vocab-size", "1000", "--context-length", "512", "--batch-size", "4",
         "--profile-type", "training", "--warmup-steps", "1", "--measure-steps", "1",
         "--stacks", "none"]


def run(command, *flags, **environment):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [HEADROOM, command, *SHAPE, *flags, "--format", "jsonl"], text=True, check=False,
            capture_output=True, cwd=folder, env={**os.environ, **environment})
        left = sorted(os.listdir(folder))
    return done, [json.loads(line) for line in done.stdout.splitlines()], left


class HostRefusals(unittest.TestCase):
    def test_pinned_memory_that_is_refused_is_named(self):
        for given in (0, 1):
            done, (record,), left = run(
                "profile", "--device", "virtual:h200", "--activations", "offload",
                LD_PRELOAD=REFUSE, REFUSE_PINNED_BEYOND=str(given * 70 * MIB))
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertEqual(record["status"], "oom")
            self.assertEqual(
                record["reason"], "warm-up step 1, forward: pinned host memory for offload: "
                f"{'64.000 MiB' if given else '0 B'} are taken, 64.000 MiB more were refused by "
                "the host (CUDA error: out of memory)")
            self.assertEqual(done.stderr.splitlines()[-1], "headroom: oom: " + record["reason"])
            self.assertEqual(left, [])

    def test_pinned_memory_for_weights_is_refused_while_the_model_is_built(self):
        done, (record,), left = run(
            "profile", "--device", "virtual:h200", "--param-offload", "cpu", "--optimizer-offload",
            "cpu", LD_PRELOAD=REFUSE, REFUSE_PINNED_BEYOND="0")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(record["status"], "oom")
        self.assertEqual(
            record["reason"], "building the model: pinned host memory for offload: 0 B are taken, "
            "64.000 MiB more were refused by the host (CUDA error: out of memory)")
        self.assertEqual(left, [])

    def test_the_rows_beside_it_are_measured(self):
        done, records, left = run(
            "sweep", "--device", "virtual:h200", "--activations", "offload,exact",
            LD_PRELOAD=REFUSE, REFUSE_PINNED_BEYOND="0")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual([record["status"] for record in records], ["oom", "ok"])
        self.assertEqual(left, [])

    def test_the_hosts_limit_is_named(self):
        done, (record,), left = run(
            "profile", "--device", "cpu", "--activations", "offload:min=64KiB", "--host-memory",
            "60MiB")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(record["status"], "oom")
        self.assertRegex(
            record["reason"], "^warm-up step 1, forward: host memory: tried to allocate "
            r"64\.000 MiB .* of 60\.000 MiB allowed \(--host-memory\)$")
        self.assertEqual(left, [])


if __name__ == "__main__":
    REFUSE = str(Path(sys.argv.pop()).resolve())
    HEADROOM = str(Path(sys.argv.pop()).resolve())
    unittest.main()
