#!/usr/bin/env python3
"""Gradients clipped by PyTorch's own clip_grad_norm_, for the C++ test to be held against.

usage: clip_grad_norm.py GRADIENTS MAX_NORM,... SIZE...

GRADIENTS holds FP32 tensors of these sizes one after the other, and is overwritten: for each
MAX_NORM the clipped tensors and the norm that they had.
"""

import sys
from pathlib import Path

import torch


def clipped(gradients, max_norm):
    parameters = [torch.nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return [*(p.grad for p in parameters), norm.reshape(1)]


def main():
    path = Path(sys.argv[1])
    sizes = [int(size) for size in sys.argv[3:]]
    values = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.float32)
    gradients = values.split(sizes)
    results = [clipped(gradients, float(max_norm)) for max_norm in sys.argv[2].split(",")]
    path.write_bytes(bytes(torch.cat(sum(results, [])).untyped_storage()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
