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


def shape_without(flags):
    """SHAPE, but for what is given."""
    pairs = list(zip(SHAPE[::2], SHAPE[1::2]))
    return [word for pair in pairs if pair[0] not in flags for word in pair]


def run(command, *flags, **environment):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [HEADROOM, command, *shape_without(flags), *flags, "--format", "jsonl"], text=True, check=False,
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

    # FP32: 8,390,912 parameters; states of 96 MiB, gradients in one slab; activations in others.
    def test_the_hosts_limit_is_one_for_all_that_is_offloaded_to_it(self):
        both = ["--device", "virtual:h200", "--optimizer-offload", "cpu", "--activations",
                "offload:min=0"]
        done, (record,), _ = run("profile", *both)
        self.assertEqual(done.returncode, 0, done.stderr)
        pinned, pageable = (record["spaces"][space]["peak_allocated_bytes"]
                            for space in ("host_pinned", "host"))
        self.assertGreater(pinned, 2 * 64 * MIB)
        enough, (record,), _ = run("profile", *both, "--host-memory", str(pinned + pageable))
        self.assertEqual(enough.returncode, 0, enough.stderr)
        short, (record,), left = run(
            "profile", *both, "--host-memory", str(pinned + pageable - 4 * MIB))
        self.assertEqual(short.returncode, 4, short.stderr)
        self.assertEqual(record["status"], "oom")
        self.assertRegex(
            record["reason"], r"^warm-up step 1, (forward|backward): pinned host memory for "
            r"offload: 64\.000 MiB more requested with [0-9.]+ MiB of pinned and [0-9.]+ MiB of "
            r"pageable memory live, of [0-9.]+ MiB allowed \(--host-memory\)$")
        self.assertEqual(left, [])

    def test_states_that_the_hosts_limit_refuses_are_ordinary_memory(self):
        done, (record,), left = run("profile", "--device", "virtual:h200", "--optimizer-offload",
                                    "cpu", "--host-memory", "20MiB")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(record["status"], "oom")
        self.assertRegex(record["reason"], "^building the model: host memory: tried to allocate "
                         r"[0-9.]+ [KM]iB with .* of 20\.000 MiB allowed \(--host-memory\)$")
        self.assertEqual(left, [])

    def test_a_card_that_is_full_in_backward_leaves_the_next_cell_as_it_is_alone(self):
        """With copies both ways under way, in each of two micro-batches."""
        sent = ["--optimizer-offload", "cpu", "--activations", "offload:min=0", "--attention",
                "sdpa", "--micro-batches", "2", "--vocab-size", "50"]
        alone, (large,), _ = run("profile", "--device", "virtual:h200", *sent, "--context-length",
                                 "8192")
        self.assertEqual(alone.returncode, 0, alone.stderr)
        before, most = (large["phases"][phase]["allocated_bytes"]
                        for phase in ("loss", "backward"))
        self.assertGreater(most, before + 64 * MIB)
        card = large["environment"]["virtual_card"]["context_bytes"] + (before + most) // 2
        device = f"virtual:h200,bytes={card}"
        done, records, left = run("sweep", "--device", device, *sent, "--context-length",
                                  "8192,512")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual([record["status"] for record in records], ["oom", "ok"])
        self.assertEqual(records[0]["out_of_memory"]["phase"], "backward")
        self.assertRegex(records[0]["reason"], "^warm-up step 1, backward: CUDA out of memory")
        _, (small,), _ = run("profile", "--device", device, *sent, "--context-length", "512")
        for name in ("peak_allocated_bytes", "spaces", "category_peak_bytes",
                     "host_traffic_bytes"):
            self.assertEqual(records[1][name], small[name], name)
        self.assertEqual(left, [])


if __name__ == "__main__":
    REFUSE = str(Path(sys.argv.pop()).resolve())
    HEADROOM = str(Path(sys.argv.pop()).resolve())
    unittest.main()
