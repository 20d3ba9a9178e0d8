#!/usr/bin/env python3
"""The block and the head that torch's compiler reads (model/compiled/block.py) are the C++ ones.

usage: block_test.py BLOCK_VALUES

Values and all gradients, in FP64, to 1e-12 of the largest: written-out and fused attention, with as
many key heads as query heads and with fewer.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "model" / "compiled"))

import block as description  # noqa: E402

PROGRAM = sys.argv.pop(1)
SETTINGS = {"norm_eps": 1e-5}


class Region(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([PROGRAM, cls.folder.name], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def compare(self, region, name, inputs):
        values = torch.load(Path(self.folder.name) / f"{region}_{name}", weights_only=False)
        given = [values[one].clone().requires_grad_(f"gradient of {one}" in values) for one in inputs]
        settings = {**SETTINGS, "attention": name.split("_")[0]}
        output = getattr(description, region)(settings, *given)
        output.backward(values["gradient of output"])
        self.close("output", output, values["output"])
        for one, tensor in zip(inputs, given, strict=True):
            if tensor.requires_grad:
                self.close(f"gradient of {one}", tensor.grad, values[f"gradient of {one}"])

    def close(self, name, got, wanted):
        self.assertEqual(got.dtype, torch.float64, name)
        largest = wanted.abs().max().item()
        self.assertGreater(largest, 0, name)
        self.assertLess((got - wanted).abs().max().item(), 1e-12 * largest, name)

    def test_block(self):
        for name in ("eager_4", "eager_2", "sdpa_4", "sdpa_2"):
            with self.subTest(name):
                self.compare("block", name, ("x", *description.BLOCK, "cos", "sin"))

    def test_head_and_loss(self):
        self.compare("head_loss", "eager_4", ("x", *description.HEAD, "targets"))


if __name__ == "__main__":
    unittest.main()
