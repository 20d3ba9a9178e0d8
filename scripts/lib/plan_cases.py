"""The practical configurations of the project's memory guide, as it states them and as they come out.

usage: plan_cases.py HEADROOM
Prints a Markdown table: what the guide says of each, what its configuration needs per GPU, and the
cheapest set-up that `headroom rlhf` finds for the same models and GPUs.
"""

import json
import subprocess
import sys

# One model, trained without generation.
TRAINING = ("--critic-size", "none", "--reward-size", "none", "--reference", "none",
            "--response-len", "0")
CASES = (
    {"what": "7B on one 24 GB card", "guide": "about 20 GB",
     "machine": ("--model-size", "7b", "--num-gpus", "1", "--gpu-memory", "24"),
     "batch": ("--batch-size", "16", "--seq-len", "2048"),
     "theirs": ("--micro-batch-size", "1", "--checkpoint", "full", "--optimizer", "adamw-8bit"),
     "in_words": "BF16, 8-bit Adam, checkpointing, micro-batch 1, flash attention",
     "precisions": ("bf16-pure", "bf16-mixed")},
    {"what": "70B on 8 x 80 GB", "guide": "about 60 GB",
     "machine": ("--model-size", "70b", "--num-gpus", "8", "--gpu-memory", "80"),
     "batch": ("--batch-size", "8", "--seq-len", "4096"),
     "theirs": ("--tp", "1", "--dp", "8", "--zero", "3", "--micro-batch-size", "1", "--checkpoint",
                "full"),
     "in_words": "BF16, ZeRO-3, checkpointing, micro-batch 1, flash attention, 4,096 tokens",
     "precisions": ("bf16-pure", "bf16-mixed")},
    {"what": "405B on 128 x 80 GB", "guide": "fits, in FP8",
     "machine": ("--model-size", "405b", "--num-gpus", "128", "--gpu-memory", "80"),
     "batch": ("--batch-size", "16", "--seq-len", "8192"),
     "theirs": ("--tp", "8", "--pp", "4", "--dp", "4", "--zero", "1", "--sequence-parallel",
                "--micro-batch-size", "1", "--checkpoint", "full"),
     "in_words": "tp 8, pp 4, dp 4, ZeRO-1, checkpointing, micro-batch 1",
     "precisions": ("bf16-pure", "bf16-mixed")},
)


def tables(headroom, *arguments):
    done = subprocess.run([headroom, "rlhf", *TRAINING, *arguments, "--format", "json"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return {table["title"].split(":")[0]: table for table in json.loads(done.stdout)}


def training_phase(found):
    """The bytes per GPU, and what is left of its memory."""
    for title, table in found.items():
        if title == "Phase" and table["title"] == "Phase: training":
            return table["rows"][-1]["memory"], table["notes"][0]
    return found["Phase"]["rows"][-1]["memory"], found["Phase"]["notes"][0]


def main():
    headroom = sys.argv[1]
    print("### The guide's configurations, and what they need")
    print()
    print("| case | the guide's configuration | the guide says | needs, bf16-pure | needs, bf16-mixed "
          "| cheapest set-up that fits | peak | margin |")
    print("| --- | --- | ---: | ---: | ---: | --- | ---: | ---: |")
    for case in CASES:
        needs = []
        for precision in case["precisions"]:
            found = tables(headroom, *case["machine"], *case["batch"], *case["theirs"],
                           "--precision", precision)
            needs.append(training_phase(found)[0])
        best = tables(headroom, *case["machine"], *case["batch"])["Recommended set-up"]["rows"][0]
        print(f"| {case['what']} | {case['in_words']} | {case['guide']} | {needs[0]} | {needs[1]} "
              f"| `{best['set-up']}` | {best['peak']} | {best['margin']} |")
    print()
    print("One model, trained without generation; per GPU, computed. bf16-pure: 2 + 2 + 4 bytes per "
          "parameter (8-bit Adam: 2 + 2 + 2); bf16-mixed: 2 + 2 + 12 (8-bit Adam: 2 + 2 + 6), which "
          "is what the set-up in the last columns is found for. FP8 is not computed.")


main()
