"""Under torchrun: each rank on its own device, gradients averaged over gloo."""
import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("gloo")
model = torch.nn.Linear(1024, 1024 * (rank + 1), bias=False).cuda()
model(torch.rand(4, 1024, device="cuda")).sum().backward()
total = torch.ones(1)
dist.all_reduce(total)
assert total.item() == 2
dist.destroy_process_group()
