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


def shape(kv_heads):
    return (
        "--model-size",
        "custom",
        "--d-model",
        "1024",
        "--d-ff",
        "2816",
        "--layers",
        "2",
        "--heads",
        "16",
        "--kv-heads",
        str(kv_heads),
        "--vocab-size",
        "64000",
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
