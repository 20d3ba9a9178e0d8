#!/usr/bin/env python3
"""torch's FSDP2MemTracker: a step of a model under FSDP2, in fake mode, on a fake process group.

--device cuda is the program as it is meant; it wants a card. --device cpu is what a machine without
one can run of it: then DTensor's own unsharded shapes are counted with what the rank has.
"""

from __future__ import annotations

import argparse

import estimator_modules  # noqa: F401
import torch
import torch.distributed as dist
from fsdp2_training import make_optimizer, run_step, sharded_model
from program import one_line_errors, say, tracked_bytes
from shapes import make_rank_parser, shape_of
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore


def peak_bytes(options: argparse.Namespace) -> int:
    if options.device == "cuda":
        torch.cuda.set_device(0)
    dist.init_process_group("fake", rank=0, world_size=options.ranks, store=FakeStore())
    mesh = init_device_mesh(options.device, (options.ranks,))
    shape = shape_of(options)
    with FakeTensorMode():
        model = sharded_model(options, mesh)
        optimizer = make_optimizer(model)
        tracker = FSDPMemTracker(model, optimizer)
        tokens_BS = torch.randint(
            0, shape.vocabulary, (1, shape.context), device=options.device
        )
        tracker.track_inputs((tokens_BS,))
        with tracker:
            run_step(model, optimizer, tokens_BS)  # its first step makes the optimizer's states
            tracker.reset_mod_stats()
            run_step(model, optimizer, tokens_BS)
        snapshot = tracker.get_tracker_snapshot("peak")
    return tracked_bytes(snapshot, options.device)


def main() -> None:
    parser = make_rank_parser(__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), required=True)
    options = parser.parse_args()
    note = "two steps, in fake mode; without cuBLAS's workspaces, 64 MiB on an H100"
    if options.device == "cpu":
        note += "; with the optimizer's tensors unsharded, from which DTensor takes the shapes"
    say(peak_bytes=peak_bytes(options), note=note)


if __name__ == "__main__":
    one_line_errors(main)
