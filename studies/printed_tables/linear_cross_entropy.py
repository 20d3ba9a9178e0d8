"""The peak of a linear layer with a cross entropy, forward and backward, after two passes and with an empty cache.

usage: linear_cross_entropy.py WIDTH WORDS ROWS...      BF16; prints a line for each number of rows, in MiB
"""

import sys

import torch
import torch.nn.functional as F


def train(rows, weight, targets):
    """The weight is a copy, whose gradient goes with it."""
    rows, weight = rows.detach().requires_grad_(), weight.detach().clone().requires_grad_()
    F.cross_entropy(F.linear(rows, weight), targets).backward()


def peak(width, words, count):
    rows = torch.randn(count, width, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(words, width, device="cuda", dtype=torch.bfloat16)
    targets = torch.randint(0, words, (count,), device="cuda")
    for _ in range(2):
        train(rows, weight, targets)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    train(rows, weight, targets)
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() / 2**20


def main(words):
    if len(words) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    width, vocabulary, *counts = map(int, words)
    for count in counts:
        print(f"{count} rows: {peak(width, vocabulary, count):.6f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
