"""Asks for more and more; argument: whether the error is caught."""
import sys

import torch


def fill():
    blocks = []
    while True:
        blocks.append(torch.empty(2**30, dtype=torch.uint8, device="cuda"))  # the line


try:
    fill()
except torch.OutOfMemoryError:
    if sys.argv[1] != "caught":
        raise
