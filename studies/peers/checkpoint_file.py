#!/usr/bin/env python3
"""Reads a checkpoint of `headroom profile --save-checkpoint`: whole tensors of however many shards.

usage: checkpoint_file.py DIR [--weights FILE] [--states FILE]

DIR: what --save-checkpoint names (its newest checkpoint), or one step-... in it. Says what it holds;
--weights and --states write the parameters and the optimizer's states as one safetensors file each.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import safetensors_file
import torch
from torch import Tensor

INDEX = "checkpoint.safetensors.index.json"
STATES = "optimizer."


class Checkpoint(NamedTuple):
    step: int  # steps done
    updates: int  # of the optimizer: fewer where FP16 steps were skipped
    model: dict[str, Tensor]  # as a state_dict; masters where there are
    optimizer: dict[str, dict[str, Tensor]]  # of a parameter: {"m": ..., "v": ...}


def newest(directory: Path) -> Path:
    if (directory / INDEX).exists():
        return directory
    whole = [one for one in directory.glob("step-*")
             if one.name[5:].isdigit() and (one / INDEX).exists()]
    if not whole:
        raise FileNotFoundError(f"{directory} holds no whole checkpoint")
    return max(whole, key=lambda one: int(one.name[5:]))


def load(directory: Path) -> Checkpoint:
    directory = newest(directory)
    index = json.loads((directory / INDEX).read_text())
    files = index["weight_map"]
    shards = {name: safetensors_file.load(directory / name) for name in set(files.values())}
    model: dict[str, Tensor] = {}
    optimizer: dict[str, dict[str, Tensor]] = {}
    for name, entry in index["tensors"].items():
        whole = torch.zeros(entry["shape"], dtype=safetensors_file.DTYPES[entry["dtype"]])
        for piece in entry["pieces"]:
            place = tuple(slice(begin, begin + size)
                          for begin, size in zip(piece["offsets"], piece["shape"]))
            whole[place] = shards[files[piece["key"]]][piece["key"]]
        if name.startswith(STATES):
            state, parameter = name[len(STATES):].split(".", 1)
            optimizer.setdefault(parameter, {})[state] = whole
        else:
            model[name] = whole
    metadata = index["metadata"]
    return Checkpoint(metadata["step"], metadata["updates"], model, optimizer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--states", type=Path)
    options = parser.parse_args()
    checkpoint = load(options.directory)
    parameters = sum(tensor.numel() for tensor in checkpoint.model.values())
    states = sorted({name for state in checkpoint.optimizer.values() for name in state})
    print(f"step {checkpoint.step}, {checkpoint.updates} updates: {parameters} parameters in "
          f"{len(checkpoint.model)} tensors; states of each: {', '.join(states) or 'none'}")
    if options.weights:
        safetensors_file.save(options.weights, checkpoint.model)
    if options.states:
        safetensors_file.save(options.states, {
            f"{STATES}{state}.{name}": tensor for name, kept in checkpoint.optimizer.items()
            for state, tensor in kept.items()})


if __name__ == "__main__":
    main()
