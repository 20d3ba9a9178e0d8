"""A training of sharded layers, some of them frozen, that ends without destroy_process_group."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(4)]).cuda()
for parameter in model[0].parameters():
    parameter.requires_grad = False
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(
    [parameter for parameter in model.parameters() if parameter.requires_grad]
)
for _ in range(3):
    model(torch.randn(8, 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print("the last line", flush=True)
