#!/usr/bin/env python3
"""Runs the recipes of CASES one after another on the machine's card, or on a virtual one; a JSON line for each.

usage: measure.py PYTHON [--card CARD]       PYTHON has the packages of recipes/requirements-finetune.txt
Exit codes: 0 every recipe answered (out of memory is an answer), 3 some failed.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASES = """
trainer    qwen2.5-0.5b --method full --batch 4 --length 1024
trainer    qwen2.5-0.5b --method full --batch 4 --length 1024 --checkpointing
trainer    qwen2.5-0.5b --method full --batch 2 --length 1024 --precision mixed
trainer    qwen2.5-0.5b --method full --batch 2 --length 512 --precision fp32 --attention eager
trainer    qwen2.5-0.5b --method full --batch 4 --length 1024 --optimizer adamw8bit
trainer    qwen2.5-0.5b --method full --batch 4 --length 1024 --optimizer lion
trainer    qwen3-0.6b --method full --batch 4 --length 1024 --optimizer adafactor
accelerate gpt2 --method full --batch 8 --length 1024 --optimizer sgd --precision fp32
trainer    gemma-3-1b --method full --batch 2 --length 1024
accelerate qwen2.5-0.5b --method full --batch 4 --length 1024
trainer    llama-3.2-1b --method lora --batch 4 --length 2048
trainer    qwen2.5-0.5b --method full --batch 11 --length 2048
trainer    qwen2.5-0.5b --method full --batch 12 --length 2048
"""


def command_of(case, python, card):
    recipe, model, *arguments = case.split()
    program = [python, ROOT / "studies/recipes/recipe_peaks.py", ROOT / f"recipes/{recipe}_recipe.py",
               "--config", ROOT / f"recipes/models/{model}.json", *arguments]
    return [ROOT / "build/release/bin/headroom", "dryrun", "--card", card, "--", *program] if card else program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("python")
    parser.add_argument("--card")
    options = parser.parse_args()
    failed = 0
    for case in filter(None, CASES.splitlines()):
        done = subprocess.run(command_of(case, options.python, options.card), capture_output=True, text=True, check=False)
        answers = [line for line in done.stdout.splitlines() if line.startswith('{"status"')]
        if not answers:
            failed += 1
            print(f"{case}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            continue
        print(json.dumps({"case": " ".join(case.split()), **json.loads(answers[-1])}), flush=True)
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
