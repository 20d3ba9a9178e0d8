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
CELL = ("--d-model", "32", "--d-ff", "48", "--layers", "2", "--heads", "4", "--kv-heads", "4",
        "--vocab-size", "96", "--context-length", "16", "--batch-size", "2", "--threads", "1",
        "--profile-type", "training", "--learning-rate", "1e-2", "--device", "cpu",
        "--warmup-steps", "0", "--measure-steps", str(STEPS))


class Updates(unittest.TestCase):
    def setUp(self):
        torch.set_num_threads(1)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tokens = Path(self.folder.name, "tokens.bin")
        self.tokens.write_bytes(array.array("H", [7 * i * i % 96 for i in range(400)]).tobytes())
        self.weights = Path(self.folder.name, "weights.safetensors")
        self.options = parse(make_parser(""), [*CELL, "--tokens", str(self.tokens)])
        save(self.weights, initial_weights(shape_of(self.options), None, 1))

    def theirs(self, implementation, master):
        peer = Bf16Peer(self.options, implementation, master == "fp32", load(self.weights))
        stream = TokenStream.open(self.options, 96)
        losses = [run_step(peer, self.options, stream.batch(step, "cpu")).item() for step in range(STEPS)]
        named = {name: p.detach() for name, p in peer.model.named_parameters()}
        return losses, peer.masters or named

    def ours(self, implementation, master):
        saved = Path(self.folder.name, "saved.safetensors")
        done = subprocess.run(
            [HEADROOM, "profile", "--model-size", "custom", *CELL, "--tokens", self.tokens,
             "--load-weights", self.weights, "--save-weights", saved, "--weights", "bf16",
             "--master-weights", master, "--optimizer-impl", implementation,
             "--record-steps", "0", "--format", "json"],
            check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["losses"], load(saved)

    def test_losses_and_weights_are_theirs(self):
        for implementation in ("foreach", "fused"):
            for master in ("none", "fp32"):
                with self.subTest(implementation=implementation, master=master):
                    their_losses, theirs = self.theirs(implementation, master)
                    our_losses, ours = self.ours(implementation, master)
                    self.assertEqual(ours.keys(), theirs.keys())
                    largest = 0.0
                    for name, tensor in theirs.items():
                        self.assertEqual(ours[name].dtype, tensor.dtype)
                        difference = (ours[name].double() - tensor.double()).abs().max().item()
                        largest = max(largest, difference / tensor.double().abs().max().item())
                    print(implementation, master, f"largest relative difference {largest:.1e}", flush=True)
                    print(their_losses, our_losses)
                    # BF16 losses are a 128th of themselves apart at the least.
                    for one, other in zip(our_losses, their_losses, strict=True):
                        self.assertAlmostEqual(one, other, delta=other / 60)
                    self.assertLess(largest, 1e-5 if master == "fp32" else 2**-7)


if __name__ == "__main__":
    HEADROOM = str(Path(sys.argv.pop(1)).absolute())
    unittest.main()
