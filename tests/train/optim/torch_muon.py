#!/usr/bin/env python3
"""torch.optim.Muon, for tests/train/optim/muon_test.cpp.

usage: torch_muon.py STEPS FILE ROWS COLUMNS [FILE ROWS COLUMNS ...]

FILE: FP32 numbers, the weight and a gradient for each step; the weight after the last step takes
their place, its momentum behind it.
"""
import sys
from pathlib import Path

import numpy
import torch


def train(path: Path, rows: int, columns: int, steps: int) -> None:
    numbers = torch.from_numpy(numpy.fromfile(path, dtype="f4")).view(1 + steps, rows, columns)
    weight = torch.nn.Parameter(numbers[0].clone())
    optimizer = torch.optim.Muon([weight], lr=1e-2, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for gradient in numbers[1:]:
        weight.grad = gradient.clone()
        optimizer.step()
    momentum = optimizer.state[weight]["momentum_buffer"]
    path.write_bytes(b"".join(one.detach().numpy().tobytes() for one in (weight, momentum)))


torch.set_num_threads(1)
words = sys.argv[2:]
for file, rows, columns in zip(words[::3], words[1::3], words[2::3], strict=True):
    train(Path(file), int(rows), int(columns), int(sys.argv[1]))
