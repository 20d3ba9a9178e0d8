"""Context parallel: the sequence is sharded over the ranks, keys and values go round in a ring."""

import os

import torch
import torch.distributed as dist
from llama import LLAMAS, Llama
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.attention import SDPBackend, sdpa_kernel


def main() -> None:
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    mesh = init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("context",))
    torch.manual_seed(1)
    shape = LLAMAS["tiny"]
    shape.key_heads = shape.heads  # the ring takes no grouped queries
    model = Llama(shape).cuda().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(2):
        tokens = torch.randint(0, shape.vocabulary, (2, 4096), device="cuda")
        targets = tokens.clone()
        with (
            sdpa_kernel(SDPBackend.FLASH_ATTENTION),
            context_parallel(mesh, buffers=[tokens, targets], buffer_seq_dims=[1, 1]),
        ):
            logits = model(tokens)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)
        optimizer.step()
        optimizer.zero_grad()
    if dist.get_rank() == 0:
        print(f"{torch.cuda.max_memory_allocated() / 2**20:.1f} MiB")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
