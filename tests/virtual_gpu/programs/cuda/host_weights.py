"""Initializes weights on the host as programs do, moves them to the card, trains one step.

usage: host_weights.py LAYERS WIDTH; prints the parameters, the bytes of host memory that building
took at most, the seconds, and the spread of a small tensor drawn on the host.
"""
import copy
import resource
import sys
import time

import torch
from torch import nn


def resident_peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


layers, width = map(int, sys.argv[1:])
torch.ones(1, device="cuda")
before, began = resident_peak(), time.perf_counter()
model = nn.Sequential(nn.Embedding(8192, width),
                      *(nn.Linear(width, width, bias=False) for _ in range(layers // 2)))
model.extend(copy.deepcopy(model[1:]))  # as nn.TransformerEncoder repeats its layer
for module in model:
    nn.init.trunc_normal_(module.weight, std=0.02)  # as GPT-2 does, after the module's own
model[-1].weight.data.normal_(mean=0.0, std=0.01)
nn.init.orthogonal_(model[1].weight[:64])
model.cuda()
grown, seconds = resident_peak() - before, time.perf_counter() - began
optimizer = torch.optim.AdamW(model.parameters())
model(torch.zeros(8, dtype=torch.long, device="cuda")).sum().backward()
optimizer.step()
print(sum(p.numel() for p in model.parameters()), grown, seconds,
      torch.empty(1000).normal_().std().item())
