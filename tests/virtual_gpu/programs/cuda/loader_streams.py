"""Pinned batches from two workers; a second stream; a copy from device to device; offload."""
import resource

import torch
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.rand(64, 1024)), 16, num_workers=2, pin_memory=True)
stream = torch.cuda.Stream()
for (batch,) in loader:
    with torch.cuda.stream(stream):
        there = batch.cuda(non_blocking=True)
    torch.cuda.current_stream().wait_stream(stream)
    there.record_stream(torch.cuda.current_stream())
    (there * 2).sum()
torch.rand(1024, 1024, device="cuda:0").to("cuda:1").add_(1)
# More pinned memory than many a host has, and a card's worth of it written by the card.
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
host = torch.empty(64 * 2**30, dtype=torch.uint8, pin_memory=True)
host[: 16 * 2**30].copy_(torch.empty(16 * 2**30, dtype=torch.uint8, device="cuda"), non_blocking=True)
pageable = torch.empty(2**30, dtype=torch.uint8, device="cuda").cpu()
torch.cuda.synchronize()
assert not host[:1000].any() and not pageable[-1000:].any()
taken_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(torch.cuda.can_device_access_peer(0, 1), torch.cuda.device_count(), taken_kib)
