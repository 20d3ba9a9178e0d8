"""Masks whose values are not known here: masks.py PART [+ PART ...]
PART: backward | experts | turns | finite N | large | parts | eig LIBRARY | threads | record_off | fill DIR
"""

import itertools
import os
import sys

import torch


def backward():
    x = torch.randn(4096, 1024, device="cuda", requires_grad=True)
    mask = torch.rand(4096, device="cuda") > 0.5
    y = x[mask]  # rows: --value
    again = mask.sum().item() if mask.numel() < 1 << 20 else -1
    y.sum().backward()
    wide = torch.randn(3 << 20, device="cuda", requires_grad=True)
    large = wide > 0.5
    part = torch.masked_select(wide, large)  # wide: --value
    part.sum().backward()
    print("rows", y.shape[0], again, part.shape[0])


def experts():
    weights = torch.nn.ParameterList(torch.randn(8, 8, device="cuda") for _ in range(8))
    hits = (torch.rand(8, device="cuda") > 0.1).nonzero()  # experts: --value
    for hit in hits:
        (torch.ones(4, 8, device="cuda") @ weights[hit]).sum().backward()
    print("gradients", sum(weight.grad is not None for weight in weights))


def turns():
    seen = [torch.randint(9, (1,), device="cuda").item() for _ in range(7)]  # turns: --value
    print("turns", *seen)


def finite(count):
    ratio = torch.full((4, count), 0.5, device="cuda") - torch.full((4, count), 0.25, device="cuda")
    mask = torch.arange(count, device="cuda").expand(4, count) <= count
    means = (ratio.exp() * mask).sum(1) / mask.sum(1).clamp(min=1)
    print("least", round(torch.min(means[~torch.isnan(means)]).item(), 3))
    unknown = torch.randn(4, count, device="cuda").sum(1)
    print("unknown", torch.min(unknown[~torch.isnan(unknown)]).item())


def large():
    """Masks of more than is kept of a tensor."""
    values = torch.randn(600, 4096, device="cuda")
    print("finite", torch.isfinite(values).all().item(), torch.isnan(values).any().item(),
          values[~torch.isnan(values)].shape[0])


def eig(library):
    torch.backends.cuda.preferred_linalg_library(library)
    print("vectors", *torch.linalg.eig(torch.randn(1200, 1200, device="cuda")).eigenvectors.shape)


def threads():
    """Known values are computed by the thread that asks; before anything starts the threads of OpenMP."""
    one = torch.ones(1, device="cuda", dtype=torch.bfloat16)
    before = len(os.listdir("/proc/self/task"))
    many = one.expand(2, 4, 256, 256).contiguous()
    print("threads", len(os.listdir("/proc/self/task")) - before, many[1, 3, 255, 255].item())


def parts():
    """A write to a part of a tensor leaves the rest as it was."""
    labels = torch.arange(4 * 520, device="cuda").view(4, 520)
    labels[:, :-512] = -100
    unknown = torch.randint(9, (4,), device="cuda")
    labels[:, 519] = unknown
    hidden = torch.randn(4, 518, 8, device="cuda", requires_grad=True)
    mask = labels[:, 1:-1] != -100
    kept = hidden[mask]
    kept.sum().backward()
    room = torch.empty(4, 64, dtype=torch.long, device="cuda")
    room[:, 3:5] = 7
    print("rows", kept.shape[0], "sum", room[:, 3:5].sum().item(), "first", labels[1, 8].item())


def lists():
    """A copy of several tensors at once: an unknown one leaves the others known."""
    unknown = torch.randint(9, (4,), device="cuda")
    buffers = [torch.zeros(n, dtype=torch.long, device="cuda") for n in (8, 8, 4)]
    sources = [torch.tensor([3, 5]).cuda(), unknown, torch.arange(4, device="cuda")]
    torch._foreach_copy_([buffer[: len(source)] for buffer, source in zip(buffers, sources)], sources)
    print("lengths", *buffers[0].tolist(), "places", *buffers[2].tolist())


def record_off():
    torch.cuda.memory._record_memory_history()
    kept = torch.empty(3 << 20, device="cuda")
    torch.cuda.memory._record_memory_history(enabled=None)  # off
    print("kept", kept.numel())


def fill(folder):
    """Takes the last byte of the disk that the reports or the snapshot go to."""
    torch.empty(1 << 20, device="cuda")
    with open(f"{folder}/full", "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"0" * size)
            except OSError:
                continue
    print("full")


if __name__ == "__main__":
    for is_end, words in itertools.groupby(sys.argv[1:], "+".__eq__):
        if not is_end:
            name, *arguments = words
            globals()[name](*(int(word) if word.isdigit() else word for word in arguments))
