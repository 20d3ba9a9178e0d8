"""Three steps under DistributedDataParallel, as everybody's train.py has them, with a metric that all
ranks share and a checkpoint that the first one writes.

usage: ddp.py [nccl|gloo]
"""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
from llama import LLAMAS, Llama
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main() -> None:
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group(sys.argv[1] if len(sys.argv) > 1 else "nccl")
    torch.manual_seed(1)
    shape = LLAMAS["tiny"]
    model = DistributedDataParallel(Llama(shape).cuda(), device_ids=[local])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    data = TensorDataset(torch.randint(0, shape.vocabulary, (48, shape.context + 1)))
    sampler = DistributedSampler(data)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (batch,) in DataLoader(data, batch_size=8, sampler=sampler, drop_last=True):
            batch = batch.to(local)
            with torch.autocast("cuda", torch.bfloat16):
                logits = model(batch[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            dist.all_reduce(loss, op=dist.ReduceOp.SUM)
            if dist.get_rank() == 0:
                print(f"loss {loss.item() / dist.get_world_size():.3f}")
    if dist.get_rank() == 0:
        with tempfile.TemporaryFile() as file:
            torch.save(model.module.state_dict(), file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
