#!/usr/bin/env python3
"""headroom finetune with the real packages, where ./recipes/install.sh put them: counts of parameters, every stack.

usage: stacks_test.py HEADROOM [unittest arguments]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/stacks/finetune/bin/python"
TORCHTUNE = ROOT / "build/stacks/torchtune/bin/python"
SHAPES = sorted((ROOT / "recipes/models").glob("*.json"))
COUNT = """
import sys, torch
from transformers import AutoConfig, AutoModelForCausalLM
for path in sys.argv[1:]:
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(path))
    print(sum(p.numel() for p in model.parameters()))
"""

TORCHAO = """
import torch
from torchao.optim import AdamW8bit, CPUOffloadOptimizer
from torchao.quantization import int8_weight_only, quantize_
model = torch.nn.Sequential(torch.nn.Linear(1024, 1024, bias=False), torch.nn.Linear(1024, 1024, bias=False)).cuda()
quantize_(model, int8_weight_only(), lambda module, name: name == "0")
trained = list(model[1].parameters())
for optimizer in CPUOffloadOptimizer(trained, torch.optim.AdamW), AdamW8bit(trained):
    model(torch.rand(8, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


class Stacks(unittest.TestCase):
    def test_the_shapes_have_as_many_parameters_as_transformers_counts(self):
        done = subprocess.run([PYTHON, "-c", COUNT, *SHAPES], capture_output=True, text=True, check=True, timeout=600)
        counted = [int(line) for line in done.stdout.split()]
        self.assertEqual(counted, [json.loads(path.read_text())["parameters"] for path in SHAPES])

    def test_every_stack_shards_its_weights(self):
        for stack in ("trainer", "trl", "accelerate"):
            for method in ("full", "lora", "qlora"):
                with self.subTest(stack=stack, method=method):
                    done = subprocess.run(
                        [HEADROOM, "finetune", "--config", "smollm2-135m", "--card", "rtx4090", "--length", "256",
                         "--gpus", "2", "--stack", stack, "--method", method], capture_output=True, text=True,
                        timeout=300)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("communication buffers", done.stdout)

    def test_weights_in_4_bits_leave_a_tied_head_tied(self):
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "breakdown.json"
            for cards in ("1", "2"):
                subprocess.run([HEADROOM, "finetune", "--config", "smollm2-135m", "--card", "rtx4090", "--length", "256",
                                "--method", "qlora", "--gpus", cards, "--output", output], check=True, timeout=300,
                               capture_output=True)
                rows = json.loads(output.read_text())["processes"][0]["devices"][0]["modules"]
                tables = [row["categories"]["parameters"] for row in rows if row["categories"].get("parameters", 0) > 20 * 2**20]
                with self.subTest(cards=cards):  # 49,152 rows of 576 numbers, in FP32 on one card, in BF16 on several
                    self.assertEqual(tables, [49152 * 576 * 4 if cards == "1" else 49152 * 576 * 2 // 2])

    def test_the_other_kernels_optimizers_and_shardings_train(self):
        for flags in (["--liger"], ["--packing", "--stack", "trl"], ["--packing"], ["--method", "full", "--optimizer", "muon"],
                      ["--gpus", "2", "--zero", "2"], ["--gpus", "2", "--zero", "3", "--method", "full"]):
            with self.subTest(flags):
                done = subprocess.run([HEADROOM, "finetune", "--config", "smollm2-135m", "--card", "rtx4090", "--length", "256",
                                       *flags], capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_stack_trains_with_every_method(self):
        for stack in ("trainer", "trl", "accelerate"):
            for method in ("full", "lora", "qlora"):
                with self.subTest(stack=stack, method=method):
                    done = subprocess.run(
                        [HEADROOM, "finetune", "--config", "smollm2-135m", "--card", "rtx4090", "--length", "256",
                         "--stack", stack, "--method", method], capture_output=True, text=True, timeout=300)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("fits on rtx4090", done.stdout)
                    self.assertIn("optimizer state", done.stdout)

    @unittest.skipUnless(TORCHTUNE.exists(), "./recipes/install.sh torchtune was not run")
    def test_weights_and_states_of_torchao_are_shown_with_their_type(self):
        done = subprocess.run([HEADROOM, "dryrun", "--card", "rtx4090", "--breakdown", "--", TORCHTUNE, "-c", TORCHAO],
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        # A byte for a weight, a scale and a zero point for each row; two bytes of state, and scales for 256 of them.
        self.assertRegex(done.stderr, r"Sequential.\* \(AffineQuantizedTensor\) +1 +1.012 MiB  parameters")
        self.assertRegex(done.stderr, r"AdamW8bit \(optimizer\) \(OptimState8bit\) +1 +2.033 MiB  optimizer state")

    @unittest.skipUnless(TORCHTUNE.exists(), "./recipes/install.sh torchtune was not run")
    def test_torchtune_trains_with_every_method_on_one_card_and_on_two(self):
        for method in ("full", "lora", "qlora"):
            for cards in ("1", "2"):
                with self.subTest(method=method, cards=cards):
                    done = subprocess.run(
                        [HEADROOM, "finetune", "--config", "llama-3.2-1b", "--card", "rtx4090", "--length", "256",
                         "--gpus", cards, "--stack", "torchtune", "--method", method], capture_output=True, text=True,
                        timeout=300)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("fits on ", done.stdout)


if __name__ == "__main__":
    HEADROOM = sys.argv.pop(1)
    if not PYTHON.exists():
        sys.exit(77)
    unittest.main()
