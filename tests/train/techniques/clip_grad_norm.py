#!/usr/bin/env python3
"""Gradients clipped by PyTorch's own clip_grad_norm_, for the C++ test to be held against.

usage: clip_grad_norm.py GRADIENTS MAX_NORM SIZE...

GRADIENTS holds FP32 tensors of these sizes one after the other, and is overwritten by the clipped
ones and the norm that they had.
"""

import sys
from pathlib import Path

import torch


def main():
    path, max_norm = Path(sys.argv[1]), float(sys.argv[2])
    sizes = [int(size) for size in sys.argv[3:]]
    values = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.float32)
    parameters = [torch.nn.Parameter(torch.zeros(size)) for size in sizes]
    for parameter, gradient in zip(parameters, values.split(sizes), strict=True):
        parameter.grad = gradient.clone()
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    clipped = torch.cat([*(p.grad for p in parameters), norm.reshape(1)])
    path.write_bytes(bytes(clipped.untyped_storage()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
