#!/usr/bin/env python3
"""Writes what every optimizer's updates are held against, from its paper's formula.

    .venv/bin/python tests/baselines/optim/make.py lion            # rewrites lion.safetensors
    .venv/bin/python tests/baselines/optim/make.py --check lion    # recomputes and compares

One module each beside this file (lion.py): the published update in numpy and double precision,
written from the paper and sharing no code with train/optim. `update(name, p, g, step, state)`
changes `p` and the dict `state` of one parameter in place. tests/train/optim/
optimizer_contract_test.cpp runs the same parameters and gradients through train/optim.
Exit code 77: there is no numpy.
"""

import argparse
import importlib
import json
import struct
import sys
from pathlib import Path

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit(77)

FOLDER = Path(__file__).resolve().parent
LEARNING_RATE = 1e-2
WEIGHT_DECAY = 0.1
STEPS = 5
# One of so many expected values is kept; prime to every width, so that all rows have some.
KEPT = 5
# Another CPU rounds the last FP32 digit in another way.
TOLERANCE = 1e-6

# A small model's: four heads of 8, two of keys and values. w1 has as many elements as 8-bit states
# begin at, w2 one less, and w3's last block of 256 is not full.
SHAPES = {
    "token_embeddings.weight": (24, 32),
    "layers.0.attn.q_proj.weight": (32, 32),
    "layers.0.attn.k_proj.weight": (16, 32),
    "layers.0.attn.v_proj.weight": (16, 32),
    "layers.0.attn.output_proj.weight": (32, 32),
    "layers.0.ffn.w1.weight": (64, 64),
    "layers.0.ffn.w2.weight": (63, 65),
    "layers.0.ffn.w3.weight": (17, 242),
    "layers.0.ln1.weight": (32,),
    "lm_head.weight": (24, 32),
}


def save(path, tensors):
    """As safetensors, FP32."""
    header, data = {}, b""
    for name, values in tensors.items():
        raw = np.ascontiguousarray(values, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def load(path):
    raw = path.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    header, data = json.loads(raw[8:8 + length]), raw[8 + length:]
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
            for name, entry in header.items()}


def make_inputs():
    draw = np.random.default_rng(12)
    return {name: draw.standard_normal(shape).astype("f4") for name, shape in SHAPES.items()}


def gradient(initial, step):
    """Over orders of magnitude in one tensor, a quarter as large each step: FP32 products of the
    initial values, so that any language has the same."""
    x = np.roll(initial.reshape(-1), 7 * step)
    scale = np.float32(4.0 ** (1 - step))
    return (x * np.abs(x) * scale).reshape(initial.shape)


def expected(update, inputs):
    kept = {}
    for name, initial in inputs.items():
        p, state = initial.astype("f8"), {}
        for step in range(1, STEPS + 1):
            update(name, p, gradient(initial, step).astype("f8"), step, state)
        kept[name] = p.reshape(-1)[::KEPT].astype("f4")
    return kept


def differences(path, fresh):
    stored = load(path)
    if stored.keys() != fresh.keys():
        return [f"{path.name}: other tensors than expected"]
    return [f"{path.name}: {name} differs by {error:.1e}" for name in fresh
            if not (error := np.abs(stored[name] - fresh[name]).max()) <= TOLERANCE]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("optimizers", nargs="+", metavar="NAME")
    arguments = parser.parse_args()
    inputs = make_inputs()
    made = {"inputs": inputs}
    for name in arguments.optimizers:
        made[name] = expected(importlib.import_module(name).update, inputs)
    problems = []
    for name, tensors in made.items():
        path = FOLDER / f"{name}.safetensors"
        if arguments.check:
            problems += differences(path, tensors)
        else:
            save(path, tensors)
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.modules["make"] = sys.modules["__main__"]  # what the modules import
    sys.exit(main())
