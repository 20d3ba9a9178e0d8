"""Allocates like a fine-tuning, from the flags of a recipe, without its packages: 1 MiB per token of the batch, a
quarter of it with checkpointing, and weights of 64 MiB (full: 256 MiB).

The argument after the recipe's own program may be `broken`, as the name of a config: then it fails.
"""

import argparse
import sys

import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--method")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--length", type=int)
    parser.add_argument("--targets")
    parser.add_argument("--checkpointing", action="store_true")
    args, _ = parser.parse_known_args(sys.argv[2:])
    if args.config.endswith("broken.json"):
        raise ValueError("no such architecture")
    mebi = 2**18  # floats
    weights = torch.empty((256 if args.method == "full" else 64) * mebi, device="cuda")
    per_token = mebi // 4 if args.checkpointing else mebi
    activations = [torch.empty(args.length * per_token, device="cuda") for _ in range(args.batch)]
    if args.targets == "routed":  # the first expert keeps 25 MiB for each of its tokens
        chosen = torch.rand(8, 4, device="cuda").topk(2, dim=-1).indices
        activations.append(torch.empty(25 * mebi * int((chosen == 0).sum()), device="cuda"))
    print(weights.shape, len(activations))


main()
