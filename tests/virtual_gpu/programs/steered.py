"""Decides by values that a card computed; arguments: how, and for `wait` a signal that stops it.

tests/virtual_gpu/dryrun/dryrun_test.py finds the marked lines.
"""
import os
import subprocess
import sys

import torch

MEBI = 2**20


def router():
    """Experts run for the tokens that chose them: on zeros none is hit."""
    experts = [torch.nn.Linear(1024, 1024, device="cuda") for _ in range(8)]
    tokens = torch.rand(512, 1024, device="cuda")
    chosen = torch.nn.Linear(1024, 8, device="cuda")(tokens).topk(2).indices
    hit = torch.nn.functional.one_hot(chosen, 8).sum((0, 1)).nonzero()  # router reads
    out = [experts[0](tokens) for _ in hit]
    print(len(out))


def wait():
    """transformers' generate() in small: ends when every sequence has."""
    unfinished = torch.ones(4, dtype=torch.int32, device="cuda")
    steps = 0
    is_finished = False
    while not is_finished:
        steps += 1
        unfinished = unfinished & (torch.rand(4, device="cuda") < 0.9)
        if unfinished.max() == 0:  # wait reads
            is_finished = True
        if steps == 1100 and len(sys.argv) > 2:
            subprocess.Popen(["kill", f"-{sys.argv[2]}", str(os.getpid())])
    print("steps", steps)


def equal():
    gradient = torch.rand((), device="cuda")
    if not torch.equal(gradient, torch.ones((), device="cuda")):  # equal reads
        torch.empty(64 * MEBI, dtype=torch.uint8, device="cuda")


def log():
    total = 0.0
    for step in range(3):
        loss = torch.rand(8, device="cuda").mean()
        total += loss.item()
        print(f"step {step}: loss {loss:.3f}", loss.item())
    print("mean", total / 3)


def hold():
    """A value that leaves the function: what it decides is not known."""
    return [torch.rand((), device="cuda").item() for _ in range(5)]  # hold reads


def answers():
    """Types of elements, in a row."""
    card = {"device": "cuda"}
    print(torch.empty((), **card).item(), torch.empty((), dtype=torch.bfloat16, **card).item())
    print(torch.empty(3, dtype=torch.int64, **card).tolist(), torch.empty(2, **card).cpu().tolist())
    print(torch.empty(5, **card).nonzero().shape, bool(torch.empty((), **card) == 1))
    for _ in range(4):
        print(int(torch.empty((), dtype=torch.int16, **card)))


globals()[sys.argv[1]]()
