"""libtorch refuses what it finds by values that it reads back inside: a search without a result,
repeats that are negative."""

import torch

for shape in ((4, 3000), (70000,)):
    values, indices = torch.mode(torch.randn(shape, device="cuda"))
    print(list(values.shape), list(indices.shape))

repeats = torch.randint(3, (100,), device="cuda")
print(list(torch.randn(100, device="cuda").repeat_interleave(repeats).shape))
