#!/usr/bin/env python3
"""Peaks of --kernels compiled beside those of torch.compile per block in Python, on a virtual card.

usage: compiled_memory.py HEADROOM OUTPUT.jsonl [--sizes small,medium] [--contexts 128,512]
       [--precisions fp32,bf16] [--attention sdpa] [--card h200]

Writes one line for each size, context and precision: the peak of forward and backward, batch 4, of
headroom's eager step, of its compiled one, and of compiled_blocks.py under `headroom dryrun`; beside
it OUTPUT.md, the table of all lines. Cells that are in OUTPUT are not run again. Exit 1 if a compiled
peak differs: the bytes that are requested, or those of the allocator's blocks.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

PEAKS = ("peak_allocated_bytes", "peak_requested_bytes")
HERE = Path(__file__).resolve().parent
# By their letters in tables: model/layers.h.
SHAPE = {"d_model": "D", "d_ff": "F", "layers": "L", "heads": "H", "kv_heads": "G", "vocab_size": "V"}


def peak(headroom, cell, kernels, options):
    command = [headroom, "profile", "--profile-type", "forward-backward", "--device",
               f"virtual:{options.card}", "--attention", options.attention, "--kernels", kernels,
               "--warmup-steps", "2", "--measure-steps", "1", "--record-steps", "0", "--format", "json"]
    command += [f"--{name.replace('_', '-')}={value}" for name, value in cell.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def peer_peak(headroom, cell, shape, options):
    flags = {**shape, "context_length": cell["context_length"], "batch_size": 4,
             "precision": cell["precision"], "attention": options.attention}
    python = os.environ.get("HEADROOM_PYTHON", HERE.parents[1] / ".venv" / "bin" / "python")
    command = [headroom, "dryrun", "--card", options.card, "--", python, HERE / "compiled_blocks.py"]
    command += [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def shape_of(headroom, size):
    """The dimensions of a named size, from the first table of `headroom theory`."""
    done = subprocess.run([headroom, "theory", "--model-size", size, "--format", "json"],
                          capture_output=True, text=True, check=True)
    values = {row["quantity"].split()[0]: row["value"] for row in json.loads(done.stdout)[0]["rows"]}
    return {name: int(str(values[letter]).replace(",", "")) for name, letter in SHAPE.items()}


def table(rows):
    yield "| size | context | precision | eager, GiB | compiled, GiB | saved, % | torch.compile, bytes | difference |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|"
    for row in rows:
        eager, compiled, peer = (row[name]["peak_allocated_bytes"]
                                 for name in ("eager", "compiled", "torch_compile"))
        yield (f"| {row['model_size']} | {row['context_length']} | {row['precision']} | {eager / 2**30:.3f} | "
               f"{compiled / 2**30:.3f} | {100 * (1 - compiled / eager):.1f} | {peer:,} | {compiled - peer:,} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("headroom")
    parser.add_argument("output", type=Path)
    parser.add_argument("--sizes", default="small,medium,large,xl,2.7B")
    parser.add_argument("--contexts", default="128,512")
    parser.add_argument("--precisions", default="fp32,bf16")
    parser.add_argument("--attention", default="sdpa")
    parser.add_argument("--card", default="h200")
    options = parser.parse_args()
    known = []
    if options.output.exists():
        known = [json.loads(line) for line in options.output.read_text(encoding="utf-8").splitlines()]
    for size in options.sizes.split(","):
        shape = shape_of(options.headroom, size)
        for context in map(int, options.contexts.split(",")):
            for precision in options.precisions.split(","):
                cell = {"model_size": size, "context_length": context, "precision": precision}
                row = {**cell, "card": options.card, "attention": options.attention}
                if any(row.items() <= one.items() for one in known):
                    continue
                for kernels in ("eager", "compiled"):
                    record = peak(options.headroom, cell, kernels, options)
                    row[kernels] = {name: record[name] for name in PEAKS}
                row["torch_compile"] = peer_peak(options.headroom, cell, shape, options)
                row["libtorch"] = record["environment"]["libtorch"]
                print(json.dumps(row), flush=True)
                with options.output.open("a", encoding="utf-8") as output:
                    output.write(json.dumps(row) + "\n")
                known.append(row)
    lines = "\n".join(table(known)) + "\n"
    options.output.with_suffix(".md").write_text(lines, encoding="utf-8")
    return int(any(row["compiled"] != row["torch_compile"] for row in known))


if __name__ == "__main__":
    sys.exit(main())
