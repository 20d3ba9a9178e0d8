#!/usr/bin/env python3
"""A plan's phases on one GPU, held against the iteration itself on a virtual card.

usage: plan_iteration_test.py HEADROOM

`headroom rlhf` of one GPU and `headroom ppo` of the same set-up: each phase's bytes are the same,
but for the CUDA context, which no allocator knows of.
"""

import csv
import io
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import share_by_day  # noqa: E402

HEADROOM = sys.argv[1]
PHASES = ("generation", "scoring", "training")
CARD = "h100-80gb"
MIXED = "--param-dtype bf16 --master-weights fp32"  # the plan's bf16-mixed, its default
# Flags of both; flags of the plan only; flags of the run only.
SETUPS = {
    "small": ("--model-size small --attention sdpa --optimizer-impl fused", "", MIXED),
    "phases swapped, reference on the host":
        ("--model-size small --attention sdpa --optimizer-impl fused --swap-phases "
         "--reference offload --recompute full", "", MIXED),
    "FP32, eager attention, a larger critic, a reward model":
        ("--model-size small --attention eager --optimizer-impl foreach --critic-size medium",
         "--precision fp32 --kv-dtype fp32 --reward-size small", "--reward-size actor"),
    "micro-batches of one sequence":
        ("--model-size small --attention sdpa --optimizer-impl fused", "--micro-batch-size 1",
         f"{MIXED} --max-tokens-per-micro-batch 192 --prefill-chunk 128"),
    "GRPO": ("--model-size small --attention sdpa --optimizer-impl fused", "--critic-size none",
             f"{MIXED} --algorithm grpo --group-size 4"),
    "2.7B, AdamW on the host":
        ("--model-size 2.7B --attention sdpa --recompute full", "--optimizer-offload",
         f"{MIXED} --optimizer-offload cpu"),
}


def rows_of(command, *arguments):
    done = subprocess.run([HEADROOM, command, *arguments, "--format", "csv"], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return list(csv.reader(io.StringIO(done.stdout)))


def planned(flags):
    """By phase: bytes on the card but for the CUDA context."""
    both, plan, _ = flags
    reward = [] if "--reward-size" in plan else ["--reward-size", "none"]
    rows = rows_of("rlhf", *both.split(), *plan.split(), *reward, "--num-gpus", "1", "--card", CARD,
                   "--batch-size", "4", "--prompt-len", "128", "--response-len", "64")
    bytes_of = {phase: {} for phase in PHASES}
    for table, row, column, value in rows:
        phase = table.removeprefix("Phase: ")
        if phase in bytes_of and column == "memory_bytes":
            bytes_of[phase][row] = int(value)
    return {phase: rows["TOTAL"] - rows["CUDA context"] for phase, rows in bytes_of.items()}


def measured(flags):
    both, _, run = flags
    rows = rows_of("ppo", *both.split(), *run.split(), "--device", f"virtual:{CARD}",
                   "--batch-size", "4", "--prompt-len", "128", "--response-len", "64",
                   "--stacks", "none")
    return {row: int(value) for table, row, column, value in rows
            if table == "Peak per phase" and row in PHASES and column == "allocated_bytes"}


class PlannedIteration(unittest.TestCase):
    def test_every_phase_has_the_bytes_that_are_measured(self):
        for name, flags in share_by_day(SETUPS.items()):
            with self.subTest(name):
                self.assertEqual(planned(flags), measured(flags))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
