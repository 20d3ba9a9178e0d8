"""A small training of several ranks, as torchrun starts it: fsdp, ddp or split.

usage: ranks.py KIND
"""

import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def model_of(kind: str) -> torch.nn.Module:
    layers = [torch.nn.Linear(1024, 1024, bias=False) for _ in range(4)]
    model = torch.nn.Sequential(*layers).cuda()
    if kind == "fsdp":
        from torch.distributed.fsdp import fully_shard  # its name since torch 2.6

        for layer in model:
            fully_shard(layer)
        fully_shard(model)
        return model
    return DistributedDataParallel(model)


def main() -> None:
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    kind = sys.argv[1]
    bound = {"device_id": torch.device("cuda", local)} if kind == "split" else {}
    dist.init_process_group("nccl", **bound)
    if kind == "split":  # bound to a device, a new group is a split
        group = dist.new_group([0, 1])
        if dist.get_rank() < 2:
            dist.all_reduce(torch.ones(1000, device="cuda"), group=group)
    else:
        model = model_of(kind)
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(2):
            model(torch.ones(8, 1024, device="cuda")).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
