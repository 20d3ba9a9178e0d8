"""Pinned batches from two workers; a second stream; a copy from device to device."""
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
print(torch.cuda.can_device_access_peer(0, 1), torch.cuda.device_count())
