"""The workspaces that libtorch gives to cuBLAS and cuBLASLt: bytes held after a product, and at its peak.

Prints "mm HELD PEAK addmm HELD PEAK": a product of matrices, then one with a bias, beyond their own tensors.
"""

import torch

a = torch.zeros(64, 64, device="cuda")
bias = torch.zeros(64, device="cuda")
own = torch.cuda.memory_allocated()
words = []
for name, product in (("mm", lambda: torch.mm(a, a)), ("addmm", lambda: torch.addmm(bias, a, a))):
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    size = product().untyped_storage().nbytes()  # freed again
    held = torch.cuda.memory_allocated() - before
    words += [name, held, torch.cuda.max_memory_allocated() - before - size]
print(*words)
