"""Three steps of a Llama-like model under FSDP2, as PyTorch's tutorial has it: a meta-device model is
sharded layer by layer, its shards are made on the card and set, AdamW steps in BF16 mixed precision.

usage: fsdp2.py [tiny|70b|405b]
"""

import os
import sys

import torch
import torch.distributed as dist
from llama import LLAMAS, Llama
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def main() -> None:
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    shape = LLAMAS[sys.argv[1] if len(sys.argv) > 1 else "tiny"]
    with torch.device("meta"):
        model = Llama(shape)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    model.to_empty(device="cuda")
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    for step in range(3):
        tokens = torch.randint(0, shape.vocabulary, (1, shape.context), device="cuda")
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1).float(), tokens.flatten())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        del norm
        if dist.get_rank() == 0:
            print(f"step {step}: {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
