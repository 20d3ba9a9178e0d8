"""Micro-batches of packed sequences beside fixed ones, on a virtual card, as Markdown: tokens that are
computed, padding that is not, the largest micro-batch and the peak of training.

usage: packing_table.py HEADROOM

A fixed number of sequences, padded to the longest, is what prompts of one length are; so that is
how it is measured.
"""

import shlex
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from one_run import record_of_run  # noqa: E402

GIB = 1 << 30
PROMPT, RESPONSE, SEQUENCES = 1024, 256, 32
LONGEST = PROMPT + RESPONSE
BASE = ("--model-size medium --param-dtype bf16 --attention sdpa --context-length 1280 "
        f"--prompt-len {PROMPT} --response-len {RESPONSE} --batch-size {SEQUENCES} --epochs 1 "
        "--device virtual:h100-80gb --stacks none --format json")


def record_of(headroom, lengths, budget):
    command = [headroom, "ppo", *shlex.split(BASE), "--prompt-lengths", lengths,
               "--max-tokens-per-micro-batch", str(budget)]
    return record_of_run(command)


def main():
    headroom = sys.argv[1]
    print("| micro-batches | how many | tokens computed | padding among them, % "
          "| tokens of the largest | peak of training, GiB |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: |")
    rows = [(f"{count} sequences, padded", "even", count * LONGEST) for count in (16, 8, 4, 2)]
    rows += [(f"at most {budget} tokens", "skewed", budget)
             for budget in (16 * LONGEST, 8 * LONGEST, 4 * LONGEST, 2 * LONGEST)]
    records = {name: record_of(headroom, lengths, budget) for name, lengths, budget in rows}
    real = records[rows[-1][0]]["ppo"]["packing"]["tokens"]
    for name, _, budget in rows:
        record = records[name]
        packing = record["ppo"]["packing"]
        if packing["most_tokens"] > budget:
            sys.exit(f"{name}: {packing['most_tokens']} tokens in one micro-batch")
        peak = record["phases"]["training"]["allocated_bytes"]
        print(f"| {name} | {packing['micro_batches']} | {packing['tokens']:,} "
              f"| {(packing['tokens'] - real) / packing['tokens'] * 100:.1f} "
              f"| {packing['most_tokens']:,} | {peak / GIB:.3f} |")
    print(f"\n{SEQUENCES} prompts of 1 to {PROMPT:,} tokens, most of them short (`--prompt-lengths skewed`), "
          f"responses of {RESPONSE}; beside `headroom ppo {BASE.split(' --stacks')[0]}`.")


if __name__ == "__main__":
    main()
