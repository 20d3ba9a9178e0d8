#!/usr/bin/env python3
"""Peaks of a step by what backward recomputes, with eager and with compiled kernels, on a virtual card.

usage: budget_curve.py HEADROOM OUTPUT.jsonl [--model-size small] [--context-length 512] [--card h200]

Writes one line for each form, and beside it OUTPUT.md: the peak of forward and backward, batch 4, and
what one block keeps. Compiles each budget once (a minute). Forms that are in OUTPUT are not run again.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

BUDGETS = ("1", "0.75", "0.5", "0.25", "0")
FORMS = [("eager", recompute) for recompute in ("none", "selective", "full")]
FORMS += [("compiled", f"budget:{budget}") for budget in BUDGETS] + [("compiled", "full")]
KEPT = ("peak_allocated_bytes", "saved_bytes", "residual_bytes_per_block")


def run(options, kernels, recompute):
    # Selective checkpointing is of a softmax that is written out.
    attention = "eager" if recompute == "selective" else "sdpa"
    command = [options.headroom, "profile", "--profile-type", "forward-backward", "--device",
               f"virtual:{options.card}", "--model-size", options.model_size, "--context-length",
               str(options.context_length), "--precision", options.precision, "--kernels", kernels,
               "--attention", attention, "--recompute", recompute, "--warmup-steps", "2",
               "--measure-steps", "1", "--stacks", "none", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    record = json.loads(done.stdout)
    return {"attention": attention, **{name: record[name] for name in KEPT}}


def table(rows):
    yield "| kernels | attention | recomputed in backward | peak, GiB | kept for backward, GiB | of them by one block, MiB |"
    yield "|---|---|---|---:|---:|---:|"
    for row in rows:
        yield (f"| {row['kernels']} | {row['attention']} | {row['recompute']} | {row['peak_allocated_bytes'] / 2**30:.3f} | "
               f"{row['saved_bytes'] / 2**30:.3f} | {row['residual_bytes_per_block'] / 2**20:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("headroom")
    parser.add_argument("output", type=Path)
    parser.add_argument("--model-size", default="small")
    parser.add_argument("--context-length", type=int, default=512)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--card", default="h200")
    options = parser.parse_args()
    rows = []
    if options.output.exists():
        rows = [json.loads(line) for line in options.output.read_text(encoding="utf-8").splitlines()]
    for kernels, recompute in FORMS:
        row = {"model_size": options.model_size, "context_length": options.context_length,
               "precision": options.precision, "card": options.card, "kernels": kernels, "recompute": recompute}
        if any(row.items() <= known.items() for known in rows):
            continue
        row |= run(options, kernels, recompute)
        print(json.dumps(row), flush=True)
        with options.output.open("a", encoding="utf-8") as output:
            output.write(json.dumps(row) + "\n")
        rows.append(row)
    options.output.with_suffix(".md").write_text("\n".join(table(rows)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
