"""Frees blocks that another stream used, in the ways that wait for it and those that do not; prints what is reserved."""

import torch

MIB = 1 << 20
side = torch.cuda.Stream()


def hand_over(count: int) -> None:
    for _ in range(count):
        block = torch.empty(64 * MIB, device="cuda", dtype=torch.uint8)
        with torch.cuda.stream(side):
            block.zero_()
        block.record_stream(side)
        del block


def reserved() -> int:
    return torch.cuda.memory_reserved() // MIB


hand_over(4)
print("not waited for:", reserved())
side.synchronize()
hand_over(1)
print("waited for:", reserved())
hand_over(3)
torch.zeros(1, device="cuda").item()
hand_over(1)
print("another stream waited for:", reserved())
torch.cuda.current_stream().wait_stream(side)
torch.zeros(1, device="cuda").item()
hand_over(4)
print("a stream that comes after it waited for:", reserved())

side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    torch.zeros(1, device="cuda")
event = side.record_event()
while not event.query():
    pass
print("asked until it was done:", event.query())
