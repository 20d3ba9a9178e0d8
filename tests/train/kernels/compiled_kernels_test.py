#!/usr/bin/env python3
"""Steps of --kernels compiled beside those of --kernels eager, with torch's compiler (minutes).

usage: compiled_kernels_test.py HEADROOM
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM = Path(sys.argv[1]).resolve()
MODEL = ("--model-size", "custom", "--d-model", "64", "--d-ff", "160", "--heads", "4", "--layers", "3",
         "--vocab-size", "500", "--context-length", "32", "--profile-type", "training")
TECHNIQUES = (
    (), ("--recompute", "full"), ("--recompute", "every:2"), ("--activations", "offload:min=0"),
    ("--release-gradients", "--max-grad-norm", "0"), ("--optimizer-offload", "cpu"),
    ("--param-offload", "cpu", "--optimizer-offload", "cpu"), ("--max-grad-norm", "1"),
    ("--optimizer", "adam8bit"), ("--optimizer", "lion"), ("--optimizer-impl", "fused"),
    ("--mesh", "dp=2"), ("--mesh", "dp=2", "--zero", "1"), ("--mesh", "dp=2", "--zero", "3"),
)


class Compiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory()
        cls.environment = {**os.environ, "XDG_CACHE_HOME": cls.cache.name}

    @classmethod
    def tearDownClass(cls):
        cls.cache.cleanup()

    def record(self, kernels, *flags):
        command = [HEADROOM, "profile", *MODEL, "--kernels", kernels, "--record-steps", "0", "--format",
                   "json", *flags]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def losses(self, kernels, *flags, steps=3):
        record = self.record(kernels, "--device", "cpu", "--warmup-steps", "0", "--measure-steps",
                             str(steps), *flags)
        self.assertEqual(len(record["losses"]), steps)
        return record["losses"]

    def compare(self, allowed, *flags, steps=3):
        eager, compiled = (self.losses(kernels, *flags, steps=steps) for kernels in ("eager", "compiled"))
        off = max(abs(a - b) / a for a, b in zip(eager, compiled, strict=True))
        print(f"{off:.1e}", *flags, flush=True)
        self.assertLess(off, allowed, flags)

    def test_twenty_steps_have_the_losses_of_eager(self):
        for attention in ("eager", "sdpa"):
            self.compare(1e-5, "--attention", attention, steps=20)

    def test_in_bf16_they_differ_by_its_rounding(self):
        # On the CPU the loss itself is in BF16: neighbours differ by 1/128 at most.
        self.compare(1 / 128, "--attention", "sdpa", "--precision", "bf16", steps=20)
        self.compare(1 / 64, "--attention", "sdpa", "--param-dtype", "bf16", steps=20)

    def test_with_every_technique(self):
        for flags in TECHNIQUES:
            with self.subTest(flags):
                self.compare(1e-5, "--attention", "sdpa", *flags)
        self.compare(1e-5, "--attention", "sdpa", "--micro-batches", "2")

    def test_activations_are_stored_in_8_bits(self):
        exact, stored = (self.losses("compiled", "--attention", "sdpa", "--activations", form)
                         for form in ("exact", "int8:min=0"))
        self.assertNotEqual(exact, stored)
        self.compare(1e-4, "--attention", "sdpa", "--activations", "int8:min=0")

    def test_fewer_key_heads(self):
        for attention in ("eager", "sdpa"):
            self.compare(1e-5, "--attention", attention, "--kv-heads", "2")

    def test_a_budget_keeps_less_and_changes_no_loss(self):
        usual, none = (self.record("compiled", "--device", "cpu", "--attention", "sdpa", "--recompute", form)
                       for form in ("none", "budget:0"))
        self.assertLess(none["peak_allocated_bytes"], usual["peak_allocated_bytes"])
        for a, b in zip(usual["losses"], none["losses"], strict=True):
            self.assertLess(abs(a - b), 1e-5 * a)

    def test_on_a_virtual_card_it_needs_no_more_than_eager(self):
        for precision in ("fp32", "bf16"):
            peaks = {kernels: self.record(kernels, "--device", "virtual:h100-80gb", "--attention", "sdpa",
                                          "--precision", precision)["peak_allocated_bytes"]
                     for kernels in ("eager", "compiled")}
            self.assertLessEqual(peaks["compiled"], peaks["eager"], precision)

    def test_a_warm_worker_gives_the_record_of_a_new_process(self):
        flags = (*MODEL, "--kernels", "compiled", "--attention", "sdpa", "--device", "virtual:h100-80gb",
                 "--record-steps", "0", "--optimizer", "adamw,sgd,lion", "--format", "jsonl")
        peaks = []
        for one_each in ((), ("--jobs", "1")):
            done = subprocess.run([HEADROOM, "sweep", *flags, *one_each], capture_output=True, text=True,
                                  env=self.environment, check=True)
            peaks.append([json.loads(line)["peak_allocated_bytes"] for line in done.stdout.splitlines()])
        alone = [self.record("compiled", "--attention", "sdpa", "--device", "virtual:h100-80gb",
                             "--optimizer", name)["peak_allocated_bytes"]
                 for name in ("adamw", "sgd", "lion")]
        self.assertEqual(peaks, [alone, alone])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
