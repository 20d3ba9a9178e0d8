#!/usr/bin/env python3
"""A plan's training phase, held against the step itself on a virtual card.

usage: plan_test.py HEADROOM [unittest arguments]

One model on one GPU, no generation: what `headroom rlhf` adds up from rows is what libtorch's
allocator does. The peak of these steps stands where backward begins: everything kept, the logits
and what the loss makes of them, no gradient yet.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM = ""
BATCH = ("--batch-size", "2")
NOT_THERE_YET = ("Actor (gradients)", "CUDA context", "TOTAL")


CHECKPOINTS = ("none", "full", "every:2", "blocks:50%", "selective")


def shape(kv_heads, layers=2, vocab_size=64000):
    return (
        "--model-size",
        "custom",
        "--d-model",
        "1024",
        "--d-ff",
        "2816",
        "--layers",
        str(layers),
        "--heads",
        "16",
        "--kv-heads",
        str(kv_heads),
        "--vocab-size",
        str(vocab_size),
    )


def step(*arguments):
    done = subprocess.run(
        [
            HEADROOM,
            "profile",
            *BATCH,
            "--context-length",
            "512",
            "--device",
            "virtual:h200",
            "--optimizer-impl",
            "fused",
            "--warmup-steps",
            "2",
            "--measure-steps",
            "1",
            "--format",
            "json",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def plan(record, *arguments):
    """The tables, by title."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        path.write_text(json.dumps(record) + "\n")
        done = subprocess.run(
            [
                HEADROOM,
                "rlhf",
                *BATCH,
                "--seq-len",
                "512",
                "--critic-size",
                "none",
                "--reward-size",
                "none",
                "--reference",
                "none",
                "--response-len",
                "0",
                "--num-gpus",
                "1",
                "--card",
                "h200",
                "--records",
                str(path),
                "--format",
                "json",
                *arguments,
            ],
            capture_output=True,
            text=True,
            check=True,
        )
    return {table["title"]: table["rows"] for table in json.loads(done.stdout)}


class Plan(unittest.TestCase):
    def test_the_training_phase_is_the_peak_of_the_step(self):
        for precision, attention, kv_heads in (
            ("fp32", "eager", 16),
            ("fp32", "eager", 4),
            ("fp32", "sdpa", 16),
            ("fp32", "sdpa", 4),
            ("bf16", "eager", 4),
            ("bf16", "sdpa", 4),
            ("bf16", "sdpa", 16),
        ):
            setting = (*shape(kv_heads), "--precision", precision, "--attention", attention)
            with self.subTest(setting=setting[-4:], kv_heads=kv_heads):
                record = step("--profile-type", "training", *setting)
                self.assertEqual(record["peak_phase"], "backward")
                tables = plan(record, *setting)
                computed = sum(
                    row["memory_bytes"]
                    for row in tables["Phase: training"]
                    if row["component"] not in NOT_THERE_YET
                )
                measured = record["peak_requested_bytes"]
                self.assertLess(abs(measured - computed) / measured, 1e-4)
                rows = tables["Computed, and measured by headroom profile"]
                self.assertEqual(len(rows), 4)
                for row in rows:
                    difference = abs(row["computed_bytes"] - row["measured_bytes"])
                    self.assertLessEqual(difference, 256, row)

    def test_with_checkpointing_it_is_too(self):
        """The logits decide: the peak stands where backward begins, before anything is computed
        again."""
        for (precision, attention), checkpoint in itertools.product(
            (("fp32", "eager"), ("bf16", "eager"), ("bf16", "sdpa")), CHECKPOINTS
        ):
            setting = (*shape(16, layers=3), "--precision", precision, "--attention", attention,
                       "--checkpoint", checkpoint)
            with self.subTest(setting=setting[-6:]):
                record = step("--profile-type", "training", *setting)
                training = plan(record, *setting)["Phase: training"]
                computed = sum(row["memory_bytes"] for row in training
                               if row["component"] not in NOT_THERE_YET)
                measured = record["peak_requested_bytes"]
                self.assertLess(abs(measured - computed) / measured, 1e-3)

    def test_bf16_weights_are_planned_as_they_run(self):
        weights = {"bf16-pure": ("--weights", "bf16"),
                   "bf16-mixed": ("--weights", "bf16", "--master-weights", "fp32")}
        for (precision, run), attention, checkpoint in itertools.product(
            weights.items(), ("eager", "sdpa"), ("none", "full", "blocks:50%")
        ):
            setting = (*shape(4, layers=3), "--attention", attention, "--checkpoint", checkpoint)
            with self.subTest(setting=(precision, *setting[-4:])):
                record = step("--profile-type", "forward-backward", *setting, *run)
                self.assertEqual(record["peak_phase"], "backward")
                training = plan(record, *setting, "--precision", precision)["Phase: training"]
                computed = sum(row["memory_bytes"] for row in training
                               if row["component"] not in (*NOT_THERE_YET, "Actor (optimizer)"))
                measured = record["peak_requested_bytes"]
                self.assertLess(abs(measured - computed) / measured, 1e-3)

    def test_what_is_kept_and_what_is_computed_again_are_the_steps(self):
        """The blocks decide. Then a plan counts every gradient and the step's peak stands where
        some are not there yet, among backward's temporaries, which no plan counts: the totals
        differ, these components do not."""
        head = {}
        for (precision, attention), checkpoint in itertools.product(
            (("fp32", "sdpa"), ("bf16", "eager")), CHECKPOINTS
        ):
            setting = (*shape(16, layers=3, vocab_size=1000), "--precision", precision,
                       "--attention", attention, "--checkpoint", checkpoint)
            with self.subTest(setting=setting[-6:]):
                record = step("--profile-type", "training", *setting)
                rows = {row["component"]: row["memory_bytes"]
                        for row in plan(record, *setting)["Phase: training"]}
                # Last norm, logits and loss stay as they are, whatever the blocks do.
                beside = record["saved_bytes"] - rows["Activations"]
                self.assertEqual(beside, head.setdefault((precision, attention), beside))
                if "Recomputed block" not in rows:
                    continue
                casts = {"fp32": 0, "bf16": 2 * (4 * 1024**2 + 3 * 1024 * 2816)}[precision]
                blocks = {"full": 1, "every:2": 2, "blocks:50%": 1, "selective": 0}[checkpoint]
                self.assertEqual(rows["Recomputed block"] - blocks * casts,
                                 record["recomputed_bytes"])

    def test_a_forward_holds_what_theory_says(self):
        for precision in ("fp32", "bf16"):
            for attention, kv_heads in itertools.product(("eager", "sdpa"), (16, 4)):
                setting = (*shape(kv_heads), "--precision", precision, "--attention", attention)
                with self.subTest(setting=setting[-4:], kv_heads=kv_heads):
                    record = step("--profile-type", "forward", *setting)
                    temporaries = record["categories_at_peak_bytes"]["temporaries"]
                    theory = subprocess.run(
                        [
                            HEADROOM,
                            "theory",
                            *BATCH,
                            "--context-length",
                            "512",
                            "--profile-type",
                            "forward",
                            "--format",
                            "json",
                            *setting,
                        ],
                        capture_output=True,
                        text=True,
                        check=True,
                    )
                    rows = {
                        row["quantity"]: row
                        for table in json.loads(theory.stdout)
                        for row in table["rows"]
                        if "quantity" in row
                    }
                    self.assertEqual(
                        rows["temporaries of a forward without gradients"]["forward_bytes"],
                        temporaries,
                    )


if __name__ == "__main__":
    HEADROOM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
