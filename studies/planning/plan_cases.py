"""The practical configurations of the project's memory guide, and what they come out as.

usage: plan_cases.py HEADROOM
Prints a Markdown table: what the guide says of each, what its configuration needs per GPU, and the
cheapest set-up that `headroom rlhf` finds for the same model, batch and GPUs.
"""

import json
import subprocess
import sys

# One model, trained without generation.
TRAINING = "--critic-size none --reward-size none --reference none --response-len 0"
PRECISIONS = ("bf16-pure", "bf16-mixed")
# Name; the guide's figure; its configuration, in words and as flags; model, GPUs and batch.
CASES = (
    (
        "7B on one 24 GB card",
        "about 20 GB",
        "BF16, 8-bit Adam, checkpointing, micro-batch 1, flash attention",
        "--micro-batch-size 1 --recompute full --optimizer adam8bit",
        "--model-size 7b --num-gpus 1 --gpu-memory 24 --batch-size 16 --seq-len 2048",
    ),
    (
        "70B on 8 x 80 GB",
        "about 60 GB",
        "BF16, ZeRO-3, checkpointing, micro-batch 1, flash attention, 4,096 tokens",
        "--tp 1 --dp 8 --zero 3 --micro-batch-size 1 --recompute full",
        "--model-size 70b --num-gpus 8 --gpu-memory 80 --batch-size 8 --seq-len 4096",
    ),
    (
        "405B on 128 x 80 GB",
        "fits, in FP8",
        "tp 8, pp 4, dp 4, ZeRO-1, checkpointing, micro-batch 1",
        "--tp 8 --pp 4 --dp 4 --zero 1 --sequence-parallel --micro-batch-size 1 --recompute full",
        "--model-size 405b --num-gpus 128 --gpu-memory 80 --batch-size 16 --seq-len 8192",
    ),
)
COLUMNS = (
    "case | the guide's configuration | the guide says | needs, bf16-pure | needs, bf16-mixed | "
    "cheapest set-up that fits | peak | margin"
)
NOTE = (
    "One model, trained without generation; per GPU, computed. bf16-pure: 2 + 2 + 4 bytes per "
    "parameter (8-bit Adam: 2 + 2 + 2); bf16-mixed: 2 + 2 + 12 (8-bit Adam: 2 + 2 + 6), the "
    "precision of the set-up in the last columns. FP8 is not computed."
)


def plan(headroom, flags):
    """The rows of each table, by its title."""
    command = [headroom, "rlhf", *TRAINING.split(), *flags.split(), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return {table["title"]: table["rows"] for table in json.loads(done.stdout)}


def cells(headroom, case):
    what, guide, in_words, flags, machine = case
    needs = [
        plan(headroom, f"{machine} {flags} --precision {precision}")["Phase: training"][-1]
        for precision in PRECISIONS
    ]
    found = plan(headroom, machine)
    best = next(rows for title, rows in found.items() if title.startswith("Recommended"))[0]
    setup = f"`{best['set-up']}`"
    return what, in_words, guide, *(n["memory"] for n in needs), setup, best["peak"], best["margin"]


def main():
    print(f"### The guide's configurations, and what they need\n\n| {COLUMNS} |")
    print("| --- | --- | ---: | ---: | ---: | --- | ---: | ---: |")
    for case in CASES:
        print(f"| {' | '.join(cells(sys.argv[1], case))} |")
    print(f"\n{NOTE}")


main()
