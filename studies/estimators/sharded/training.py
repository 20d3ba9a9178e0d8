#!/usr/bin/env python3
"""Three steps of sharded training: the program that the tools are asked about."""

from __future__ import annotations

import argparse
import os
import runpy
import tempfile

import estimator_modules  # noqa: F401
from command_line import refuse
from megatron_program import checkout, enter
from shapes import make_parser, shape_of

STEPS = 3


def train_fsdp2(options: argparse.Namespace) -> None:
    import torch
    import torch.distributed as dist
    from fsdp2_training import make_optimizer, run_step, sharded_model
    from torch.distributed.device_mesh import init_device_mesh

    shape = shape_of(options)
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    model = sharded_model(options, init_device_mesh("cuda", (dist.get_world_size(),)))
    optimizer = make_optimizer(model)
    for _ in range(STEPS):
        run_step(
            model, optimizer, torch.randint(0, shape.vocabulary, (1, shape.context), device=device)
        )
    dist.destroy_process_group()


def train_megatron(options: argparse.Namespace) -> None:
    """As many steps as Megatron-LM's own short mode of its test cases."""
    if not checkout():
        refuse("MEGATRON_LM names no checkout of Megatron-LM")
    with tempfile.TemporaryDirectory() as work:
        enter(options.size, work)
        runpy.run_path("pretrain_gpt.py", run_name="__main__")


def main() -> None:
    options = make_parser(__doc__.splitlines()[0]).parse_args()
    if options.mode == "fsdp2":
        train_fsdp2(options)
    elif options.mode == "megatron":
        train_megatron(options)
    else:
        from zero_training import train

        train(options, STEPS)


if __name__ == "__main__":
    main()
