#!/usr/bin/env python3
"""Writes what bitsandbytes itself makes of the parameters and gradients of make.py in 8 bits.

    pip install -r requirements-test.txt
    .venv/bin/python tests/baselines/optim/against_bitsandbytes.py           # rewrites the file
    .venv/bin/python tests/baselines/optim/against_bitsandbytes.py --check   # recomputes, compares

bitsandbytes.safetensors: its dynamic maps, and the parameters after five steps of its AdamW8bit on
the CPU; the version stands in bitsandbytes.json. Its CPU kernel looks the nearest of the 256 values
up in a table and is off by one near the small ones; here its own definition in PyTorch operations,
which its other devices agree with, takes that kernel's place.
Exit code 77: bitsandbytes is not installed.
"""

import argparse
import importlib.util
import json
import sys

if not all(importlib.util.find_spec(name) for name in ("bitsandbytes", "torch", "numpy")):
    print("bitsandbytes is not installed: pip install -r requirements-test.txt", file=sys.stderr)
    sys.exit(77)

import bitsandbytes
import make
import numpy as np
import torch
from bitsandbytes.backends.cpu import ops as cpu_kernels

# A value between two of the map, or the last bit of a moment: this share may differ.
SHARE = 1e-3


def quantize_by_definition(values, code, scales, codes, block):
    operation = torch.ops.bitsandbytes.quantize_blockwise.default
    key = torch._C.DispatchKey.CompositeExplicitAutograd
    made_codes, made_scales = operation._op_dk(key, values, code, block)
    codes.copy_(made_codes)
    scales.copy_(made_scales)


def after_five_steps(initial):
    parameter = torch.nn.Parameter(torch.from_numpy(initial.copy()))
    optimizer = bitsandbytes.optim.AdamW8bit(
        [parameter], lr=make.LEARNING_RATE, weight_decay=make.WEIGHT_DECAY
    )
    for step in range(1, make.STEPS + 1):
        parameter.grad = torch.from_numpy(make.gradient(initial, step))
        optimizer.step()
    return parameter.detach().numpy().reshape(-1)[:: make.KEPT]


def compute():
    cpu_kernels._quant_blockwise_fp32_direct = quantize_by_definition
    dynamic_map = bitsandbytes.functional.create_dynamic_map
    made = {name: after_five_steps(initial) for name, initial in make.make_inputs().items()}
    made["signed_map"] = dynamic_map(signed=True).numpy()
    made["unsigned_map"] = dynamic_map(signed=False).numpy()
    return made


def differences(stored, fresh):
    if stored.keys() != fresh.keys():
        return ["other tensors than expected"]
    found = []
    for name, values in fresh.items():
        error = np.abs(stored[name] - values)
        allowed = 0 if name.endswith("map") else SHARE * error.size
        if (error > (0 if name.endswith("map") else make.TOLERANCE)).sum() > allowed:
            found.append(f"{name} differs by {error.max():.1e}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    path = make.FOLDER / "bitsandbytes.safetensors"
    fresh = compute()
    if arguments.check:
        problems = differences(make.load(path), fresh)
        print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
        return 1 if problems else 0
    make.save(path, fresh)
    versions = {"bitsandbytes": bitsandbytes.__version__, "torch": torch.__version__}
    path.with_suffix(".json").write_text(json.dumps(versions, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
