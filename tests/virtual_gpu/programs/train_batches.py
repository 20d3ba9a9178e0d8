"""A step of training whose memory grows with --batch-size, and leaves free memory in pieces between two layers."""
import argparse

import torch

MIB = 1 << 20
options = argparse.ArgumentParser()
options.add_argument("--batch-size", type=int, required=True)
options.add_argument("--even-only", action="store_true")
given = options.parse_args()
batch = given.batch_size
if given.even_only and batch % 2:
    raise SystemExit(f"batch size {batch} is odd")

layer = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(torch.rand(batch, 1024, device="cuda")).sum().backward()
optimizer.step()

buffer = torch.empty(batch * 200 * MIB, dtype=torch.uint8, device="cuda")
del buffer
kept = torch.empty(20 * MIB, dtype=torch.uint8, device="cuda")  # of the buffer's segment
buffer = torch.empty(batch * 200 * MIB, dtype=torch.uint8, device="cuda")
