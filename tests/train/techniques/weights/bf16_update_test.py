#!/usr/bin/env python3
"""headroom's steps with BF16 weights, beside PyTorch's own AdamW over the same weights and tokens.

usage: bf16_update_test.py HEADROOM [unittest arguments]   (with the Python of the wheel)
"""

import array
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).parent))
from bf16_peer import Bf16Peer, run_step  # noqa: E402
from safetensors_file import load, save  # noqa: E402
from workload import TokenStream, initial_weights, make_parser, parse, shape_of  # noqa: E402

STEPS = 10
# All weights after one step, by element. AdamW's first update is the gradient's sign times the
# learning rate, so where two BF16 gradients are near 0 and differ in sign, the weights do: of gradients
# that are right to a hundredth of their spread, few. A wrong rate or correction would show
# in all.
FLIPPED = 0.005
CASES = [(implementation, master) for implementation in ("foreach", "fused") for master in ("none", "fp32")]
CELL = ("--d-model", "32", "--d-ff", "48", "--layers", "2", "--heads", "4", "--kv-heads", "4",
        "--vocab-size", "96", "--context-length", "16", "--batch-size", "2", "--threads", "1",
        "--profile-type", "training", "--learning-rate", "1e-2", "--device", "cpu",
        "--warmup-steps", "0")


def steps_flag(steps):
    return ("--measure-steps", str(steps))


class Updates(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tokens = Path(self.folder.name, "tokens.bin")
        self.tokens.write_bytes(array.array("H", [7 * i * i % 96 for i in range(400)]).tobytes())
        self.weights = Path(self.folder.name, "weights.safetensors")
        self.options = parse(make_parser(""), [*CELL, *steps_flag(STEPS), "--tokens", str(self.tokens)])
        save(self.weights, initial_weights(shape_of(self.options), None, 1))

    def theirs(self, implementation, master, steps):
        peer = Bf16Peer(self.options, implementation, master == "fp32", load(self.weights))
        stream = TokenStream.open(self.options, 96)
        losses = [run_step(peer, self.options, stream.batch(step, "cpu")).item() for step in range(steps)]
        named = {name: p.detach() for name, p in peer.model.named_parameters()}
        return losses, peer.masters or named

    def ours(self, implementation, master, steps):
        saved = Path(self.folder.name, "saved.safetensors")
        done = subprocess.run(
            [HEADROOM, "profile", "--model-size", "custom", *CELL, "--tokens", self.tokens,
             "--load-weights", self.weights, "--save-weights", saved, "--param-dtype", "bf16",
             "--master-weights", master, "--optimizer-impl", implementation,
             *steps_flag(steps), "--record-steps", "0", "--format", "json"],
            check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["losses"], load(saved)

    def test_losses_of_ten_steps_are_theirs_within_bf16s_rounding(self):
        for case in CASES:
            with self.subTest(case=case):
                their_losses, _ = self.theirs(*case, STEPS)
                our_losses, _ = self.ours(*case, STEPS)
                print(*case, their_losses, our_losses, flush=True)
                for one, other in zip(our_losses, their_losses, strict=True):
                    self.assertAlmostEqual(one, other, delta=other / 60)

    def test_weights_after_a_step_are_theirs_but_for_signs_of_tiny_gradients(self):
        for case in CASES:
            with self.subTest(case=case):
                _, theirs = self.theirs(*case, 1)
                _, ours = self.ours(*case, 1)
                self.assertEqual(ours.keys(), theirs.keys())
                differ = elements = 0
                for name, tensor in theirs.items():
                    self.assertEqual(ours[name].dtype, tensor.dtype)
                    difference = (ours[name].double() - tensor.double()).abs()
                    # PyTorch adds epsilon after the bias correction, we before it: less than a tenth of an
                    # update. Where weights are BF16, one of their own last bits besides.
                    allowed = 0.1 * self.options.learning_rate
                    if tensor.dtype == torch.bfloat16:
                        allowed = allowed + tensor.double().abs() * 2**-7
                    differ += (difference > allowed).sum().item()
                    elements += tensor.numel()
                print(*case, f"{differ} of {elements} elements differ", flush=True)
                self.assertLess(differ, FLIPPED * elements)


if __name__ == "__main__":
    HEADROOM = str(Path(sys.argv.pop(1)).absolute())
    unittest.main()
