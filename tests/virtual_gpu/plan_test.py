#!/usr/bin/env python3
"""A plan's training phase, held against the step itself on a virtual card.

usage: plan_test.py HEADROOM [unittest arguments]

One model on one GPU, no generation: the training phase of `headroom rlhf` is the peak of the step,
whichever instant is fullest. With two replicas a GPU does the same step and the plan adds it up
from rows: that sum is held where it is the peak, which is where backward begins: everything kept,
the logits and what the loss makes of them, no gradient yet.
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
NOT_OF_THE_STEP = ("CUDA context", "NCCL buffers", "TOTAL")
NOT_THERE_YET = ("Actor (gradients)", *NOT_OF_THE_STEP)
# Rows are added up of several GPUs.
ADDED_UP = ("--num-gpus", "2", "--dp", "2")


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


def flags(arguments, defaults):
    """Those of the defaults that the arguments do not have, and the arguments."""
    missing = {name: value for name, value in defaults.items() if name not in arguments}
    return [*(word for item in missing.items() for word in item), *arguments]


def run(command, *arguments):
    """What it prints, read as JSON."""
    done = subprocess.run([HEADROOM, command, *arguments, "--format", "json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def step(*arguments):
    return run("profile", *flags(arguments, {
        "--batch-size": "2", "--context-length": "512", "--device": "virtual:h200",
        "--optimizer-impl": "fused", "--profile-type": "training"}))


def plan(record, *arguments):
    """The tables, by title."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        path.write_text(json.dumps(record) + "\n", encoding="utf-8")
        tables = run("rlhf", *flags(arguments, {
            "--batch-size": "2", "--seq-len": "512", "--critic-size": "none",
            "--reward-size": "none", "--reference": "none", "--response-len": "0",
            "--card": "h200", "--records": str(path)}))
    return {table["title"]: table["rows"] for table in tables}


def states(name):
    """Flags of a run that keeps its states as `headroom rlhf --precision` says."""
    return {"bf16-pure": ("--weights", "bf16"),
            "bf16-mixed": ("--weights", "bf16", "--master-weights", "fp32")}.get(
                name, ("--precision", name))


# precision, attention, checkpoint, optimizer, its implementation, words of the vocabulary, batch.
# Many words: the loss is fullest; few: the middle of backward; few tokens: the update.
BACKWARD_BEGINS, IN_BACKWARD, IN_UPDATE = (64000, 4), (1000, 4), (1000, 1)
CELLS = [
    *(("fp32", "eager", checkpoint, "adamw", "fused", *IN_BACKWARD) for checkpoint in CHECKPOINTS),
    *(("bf16", "sdpa", checkpoint, "adamw", "fused", *IN_BACKWARD) for checkpoint in CHECKPOINTS),
    *(("bf16-mixed", "eager", checkpoint, "adamw", "fused", *IN_BACKWARD)
      for checkpoint in CHECKPOINTS),
    *((precision, "sdpa", "full", "adamw", implementation, *IN_UPDATE)
      for precision in ("fp32", "bf16", "bf16-mixed", "bf16-pure")
      for implementation in ("reference", "foreach", "fused")),
    *(("bf16", "sdpa", "none", *optimizer, *IN_UPDATE)
      for optimizer in (("sgd", "foreach"), ("lion", "reference"), ("lion", "foreach"),
                        ("adam8bit", "reference"), ("adam-mini", "reference"))),
    ("bf16-pure", "sdpa", "none", "adamw", "fused", *BACKWARD_BEGINS),
    ("fp16", "eager", "selective", "adamw", "fused", *BACKWARD_BEGINS),
]


class Plan(unittest.TestCase):
    def agree(self, record, tables):
        """Both in bytes, the record's as the allocator hands them out."""
        computed = sum(row["memory_bytes"] for row in tables["Phase: training"]
                       if row["component"] not in NOT_OF_THE_STEP)
        measured = record["peak_allocated_bytes"]
        self.assertLess(abs(measured - computed) / measured, 1e-3, f"{computed}, {measured}")

    def how(self, tables):
        title = next(title for title in tables if title.startswith("RLHF memory timeline"))
        return next(row for row in tables[title] if "training phase" in row.values())

    def test_on_one_gpu_it_is_the_peak_whichever_instant_is_fullest(self):
        phases = set()
        for precision, attention, checkpoint, optimizer, implementation, words, batch in CELLS:
            setting = (*shape(4, layers=3, vocab_size=words), "--attention", attention,
                       "--checkpoint", checkpoint, "--optimizer", optimizer,
                       "--optimizer-impl", implementation, "--batch-size", str(batch))
            with self.subTest(precision=precision, setting=setting[-10:]):
                record = step(*setting, *states(precision))
                tables = plan(record, *setting, "--precision", precision, "--num-gpus", "1")
                phases.add((record["peak_phase"], words))
                self.agree(record, tables)
                self.assertIn("rehearsed", str(self.how(tables)))
        self.assertGreaterEqual(
            phases, {("optimizer", 1000), ("backward", 1000), ("backward", 64000)})

    def test_on_one_gpu_a_7b_model_is_too(self):
        """Backward's end is fullest, the update, and again the update where nothing is fused."""
        for checkpoint, precision, implementation, phase in (
            ("full", "bf16", "fused", "backward"),
            ("full", "bf16-mixed", "fused", "optimizer"),
            ("none", "bf16", "reference", "optimizer"),
        ):
            setting = ("--model-size", "7b", "--attention", "sdpa", "--checkpoint", checkpoint,
                       "--optimizer-impl", implementation, "--batch-size", "1")
            with self.subTest(precision=precision, setting=setting):
                record = step(*setting, *states(precision), "--context-length", "2048",
                              "--device", "virtual:h200,bytes=unlimited")
                self.assertEqual(record["peak_phase"], phase)
                tables = plan(record, *setting, "--precision", precision, "--num-gpus", "1",
                              "--seq-len", "2048")
                self.agree(record, tables)

    def test_on_one_gpu_micro_batches_are_the_steps(self):
        for words, checkpoint in ((1000, "none"), (64000, "full")):
            setting = (*shape(16, vocab_size=words), "--checkpoint", checkpoint, "--attention",
                       "sdpa", "--precision", "bf16", "--batch-size", "8")
            with self.subTest(words=words):
                record = step(*setting, "--micro-batches", "4")
                self.agree(record, plan(record, *setting, "--micro-batch-size", "2",
                                        "--num-gpus", "1"))

    def test_the_sum_of_rows_is_the_peak_of_the_step_where_backward_begins(self):
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
                record = step(*setting)
                self.assertEqual(record["peak_phase"], "backward")
                tables = plan(record, *setting, *ADDED_UP)
                self.assertIn("several GPUs", str(self.how(tables)))
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
                record = step(*setting)
                training = plan(record, *setting, *ADDED_UP)["Phase: training"]
                computed = sum(row["memory_bytes"] for row in training
                               if row["component"] not in NOT_THERE_YET)
                measured = record["peak_requested_bytes"]
                self.assertLess(abs(measured - computed) / measured, 1e-3)

    def test_bf16_weights_are_planned_as_they_run(self):
        for precision, attention, checkpoint in itertools.product(
            ("bf16-pure", "bf16-mixed"), ("eager", "sdpa"), ("none", "full", "blocks:50%")
        ):
            setting = (*shape(4, layers=3), "--attention", attention, "--checkpoint", checkpoint)
            with self.subTest(setting=(precision, *setting[-4:])):
                record = step("--profile-type", "forward-backward", *setting, *states(precision))
                self.assertEqual(record["peak_phase"], "backward")
                tables = plan(record, *setting, "--precision", precision, *ADDED_UP)
                training = tables["Phase: training"]
                computed = sum(row["memory_bytes"] for row in training
                               if row["component"] not in (*NOT_THERE_YET, "Actor (optimizer)"))
                measured = record["peak_requested_bytes"]
                self.assertLess(abs(measured - computed) / measured, 1e-3)

    def test_what_is_kept_and_what_is_computed_again_are_the_steps(self):
        """The blocks decide. Then a sum of rows counts every gradient and the step's peak stands
        where some are not there yet, among backward's temporaries, which are in no row: the totals
        differ, these components do not."""
        head = {}
        for (precision, attention), checkpoint in itertools.product(
            (("fp32", "sdpa"), ("bf16", "eager")), CHECKPOINTS
        ):
            setting = (*shape(16, layers=3, vocab_size=1000), "--precision", precision,
                       "--attention", attention, "--checkpoint", checkpoint)
            with self.subTest(setting=setting[-6:]):
                record = step(*setting)
                rows = {row["component"]: row["memory_bytes"]
                        for row in plan(record, *setting, *ADDED_UP)["Phase: training"]}
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
                    theory = run("theory", *BATCH, "--context-length", "512", "--profile-type",
                                 "forward", *setting)
                    rows = {
                        row["quantity"]: row
                        for table in theory
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
