"""Tensor and sequence parallel by parallelize_module, FSDP2 over what is left of the ranks.

usage: tensor_parallel.py [DEGREE]    the degree of tensor parallel; default all ranks
"""

import os
import sys

import torch
import torch.distributed as dist
from llama import LLAMAS, Llama
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

LAYER = {
    "attention_norm": SequenceParallel(),
    "attention": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
    "attention.q": ColwiseParallel(),
    "attention.k": ColwiseParallel(),
    "attention.v": ColwiseParallel(),
    "attention.out": RowwiseParallel(output_layouts=Shard(1)),
    "feed_forward_norm": SequenceParallel(),
    "feed_forward": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
    "feed_forward.gate": ColwiseParallel(),
    "feed_forward.up": ColwiseParallel(),
    "feed_forward.down": RowwiseParallel(output_layouts=Shard(1)),
}
MODEL = {
    "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "head": ColwiseParallel(
        input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False
    ),
}


def main() -> None:
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    ranks = dist.get_world_size()
    degree = int(sys.argv[1]) if len(sys.argv) > 1 else ranks
    mesh = init_device_mesh("cuda", (ranks // degree, degree), mesh_dim_names=("data", "tensor"))
    torch.manual_seed(1)
    shape = LLAMAS["tiny"]
    model = Llama(shape).cuda()
    parallelize_module(model, mesh["tensor"], MODEL)
    for layer in model.layers:
        parallelize_module(layer, mesh["tensor"], LAYER)
        fully_shard(layer, mesh=mesh["data"])
    fully_shard(model, mesh=mesh["data"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=True)
    for _ in range(3):
        tokens = torch.randint(0, shape.vocabulary, (4, shape.context), device="cuda")
        with loss_parallel():
            logits = model(tokens)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    if dist.get_rank() == 0:
        print(f"{torch.cuda.max_memory_allocated() / 2**20:.1f} MiB")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
