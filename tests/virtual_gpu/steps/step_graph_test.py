#!/usr/bin/env python3
"""Steps captured as one CUDA graph on a virtual card, and the steps that are refused.

usage: step_graph_test.py HEADROOM

The stand-in refuses in a capture what a card refuses: a test that passes here has no wait for the
device in its step. What the peaks and pools are on a card: results/h100-80gb/step_forms.jsonl,
which this test repeats.
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

HEADROOM = sys.argv[1]
ON_A_CARD = Path(__file__).resolve().parents[3] / "results" / "h100-80gb" / "step_forms.jsonl"
GRAPH = ("--profile-type", "training", "--step-graph")
FUSED = ("--optimizer-impl", "fused")
BYTES = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_requested_bytes", "graph_pool_bytes")


def profile(*flags):
    command = [HEADROOM, "profile", "--model-size", "small", "--context-length", "128", "--format", "json",
               "--warmup-steps", "2", "--measure-steps", "2", "--stacks", "none", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class StepGraphTest(unittest.TestCase):
    def record(self, *flags):
        done = profile("--device", "virtual:h100-80gb", *flags)
        self.assertEqual(done.returncode, 0, f"{flags}: {done.stderr}")
        return json.loads(done.stdout)

    def test_steps_that_do_not_wait_for_the_device_are_captured(self):
        for flags in [(*FUSED,), (*FUSED, "--attention", "sdpa", "--precision", "bf16"), ("--optimizer", "sgd"),
                      ("--optimizer", "lion"), (*FUSED, "--max-grad-norm", "1"),
                      (*FUSED, "--release-gradients"), (*FUSED, "--recompute", "full"),
                      (*FUSED, "--activations", "int8"), (*FUSED, "--activations", "fp8"),
                      (*FUSED, "--micro-batches", "2"), (*FUSED, "--precision", "fp8"),
                      (*FUSED, "--param-dtype", "bf16", "--master-weights", "fp32"),
                      ("--profile-type", "forward-backward")]:
            with self.subTest(" ".join(flags)):
                mode = () if "--profile-type" in flags else ("--profile-type", "training")
                record = self.record("--step-graph", *mode, *flags)
                self.assertEqual(record["phase_order"], ["graph"])
                self.assertGreater(record["graph_pool_bytes"], 0)
                self.assertEqual(sum(record["categories_at_peak_bytes"].values()),
                                 record["recorded_peak"]["allocated_bytes"])
                self.assertEqual(record["predicted"], {})

    def test_bytes_are_those_of_a_card(self):
        with ON_A_CARD.open(encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        eager = [r for r in records if r["spec"]["step_graph"] and r["spec"]["kernels"] == "eager"]
        self.assertEqual(len(eager), 4)
        for real in eager:
            spec = real["spec"]
            virtual = self.record(*GRAPH, *FUSED, "--precision", spec["precision"], "--attention", spec["attention"])
            self.assertEqual({name: virtual[name] for name in BYTES}, {name: real[name] for name in BYTES})

    def test_other_steps_are_refused_in_one_line(self):
        for flags, word in [(("--device", "cpu", *FUSED), "--device is cpu"),
                            ((), "--optimizer-impl reference"),
                            (("--optimizer", "adam8bit"), "--optimizer adam8bit"),
                            ((*FUSED, "--precision", "fp16"), "--precision fp16"),
                            (("--optimizer", "sgd", "--param-dtype", "bf16", "--rounding", "stochastic"),
                             "--rounding stochastic"),
                            ((*FUSED, "--mesh", "dp=2"), "--mesh is dp=2"),
                            ((*FUSED, "--activations", "offload"), "without offloading"),
                            ((*FUSED, "--warmup-steps=1"), "--warmup-steps 2"),
                            (("--device", "cuda", *FUSED, "--save-checkpoint", "new"),
                             "without --save-checkpoint")]:
            with self.subTest(" ".join(flags)):
                device = () if "--device" in flags else ("--device", "virtual:h100-80gb")
                command = [HEADROOM, "profile", "--model-size", "small", *GRAPH, *device, *flags]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, r"^headroom: --step-graph: 'true' .*; allowed: .* \(example: ")
                self.assertIn(word, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
