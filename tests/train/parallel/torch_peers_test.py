#!/usr/bin/env python3
"""Ten steps on a mesh beside torch's own FSDP2 and pipelining: the same weights, tokens and losses.

usage: torch_peers_test.py HEADROOM
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "support"), str(HERE.parents[2] / "studies" / "peers")]
import safetensors_file  # noqa: E402
from at_night import at_night, share_by_day  # noqa: E402

HEADROOM = sys.argv[1]
FORKED = str(HERE.parents[1] / "virtual_gpu" / "programs" / "processes/forked.py")
RANKS = 2
SHAPE = {"d_model": 32, "d_ff": 88, "layers": 4, "heads": 4, "vocab_size": 101,
         "context_length": 16}
STEPS = 10


class TorchPeers(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.weights = Path(directory.name) / "weights.safetensors"
        self.tokens = Path(directory.name) / "tokens.bin"
        generator = torch.Generator().manual_seed(3)
        ids = torch.randint(SHAPE["vocab_size"], (20000,), generator=generator)
        self.tokens.write_bytes(ids.to(torch.uint16).numpy().tobytes())
        self.profiled("--seed", "5", "--save-weights", str(self.weights), "--profile-type",
                      "forward", "--measure-steps", "1")

    def profiled(self, *flags):
        words = [word for name, value in SHAPE.items()
                 for word in (f"--{name.replace('_', '-')}", str(value))]
        done = subprocess.run(
            [HEADROOM, "profile", "--model-size", "custom", *words, "--device", "cpu", "--threads",
             "1", "--warmup-steps", "0", "--record-steps", "0", "--stacks", "none", "--format",
             "json", *flags], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def ours(self, *flags):
        return self.profiled("--profile-type", "training", "--measure-steps", str(STEPS),
                             "--load-weights", str(self.weights), "--tokens", str(self.tokens),
                             *flags)

    def after_one_step(self, *flags):
        file = self.weights.parent / "after.safetensors"
        self.profiled("--profile-type", "training", "--measure-steps", "1", "--load-weights",
                      str(self.weights), "--save-weights", str(file), *flags)
        return safetensors_file.load(file)

    def theirs(self, way, sequences, micro_batches):
        settings = {**SHAPE, "sequences": sequences, "micro_batches": micro_batches,
                    "steps": STEPS, "learning_rate": 1e-3}
        done = subprocess.run(
            [sys.executable, FORKED, str(RANKS), str(HERE / "torch_peers.py"), way,
             str(self.weights), str(self.tokens), json.dumps(settings)],
            env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
            timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        printed = [json.loads(line) for line in lines if line.startswith("[")]
        calls = [json.loads(line) for line in lines if line.startswith("{")]
        return [sum(losses) / len(losses) for losses in zip(*printed)], calls

    def check(self, ours, theirs):
        self.assertEqual((len(ours), len(theirs)), (STEPS, STEPS))
        for own, other in zip(ours, theirs):
            self.assertLess(abs(own - other), 1e-5 * abs(other))

    def test_zero_3_has_the_losses_of_fsdp2_and_no_more_calls(self):
        record = self.ours("--mesh", "dp=2", "--zero", "3", "--batch-size", "3")
        layers = SHAPE["layers"]
        for rank in record["ranks"]:
            ours = rank["moved_calls"]
            # Weights of the table, of every block twice but the last one, of the head; gradients of
            # the head, of every block, the table's with the first one's.
            self.assertEqual(ours, {"dp all_gather": 2 * layers + 1, "dp reduce_scatter": layers + 1})
        for way in share_by_day(("fsdp2-units", "fsdp2")):
            losses, calls = self.theirs(way, 3, 1)
            self.check(record["losses"], losses)
            self.assertEqual(len(calls), RANKS)
            for theirs in calls:
                self.assertEqual(set(theirs), {"all_gather", "reduce_scatter"})
                self.assertLessEqual(ours["dp all_gather"], theirs["all_gather"], way)
                self.assertLessEqual(ours["dp reduce_scatter"], theirs["reduce_scatter"], way)

    def test_a_step_of_two_replicas_is_that_of_one_rank_to_the_bit(self):
        # The sum of two numbers is the same in either order. Adam's first update forgets the size of
        # a gradient but where it is next to nothing: bits tell, a bound would not.
        alone = self.after_one_step("--batch-size", "4", "--micro-batches", "2")
        for zero in share_by_day(range(4), step=3):
            meshed = self.after_one_step("--batch-size", "2", "--mesh", "dp=2", "--zero", str(zero))
            self.assertEqual(meshed.keys(), alone.keys())
            for name, weight in alone.items():
                self.assertTrue(torch.equal(meshed[name], weight), f"ZeRO-{zero}: {name}")

    @at_night
    def test_stages_have_the_losses_of_torchs_1f1b(self):
        record = self.ours("--mesh", "pp=2", "--batch-size", "8", "--micro-batches", "4")
        self.check(record["losses"], self.theirs("pipeline", 8, 4)[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
