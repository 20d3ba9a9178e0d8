"""libtorch searches the card for a value that it read back, and asserts that it is there."""

import torch

for shape in ((4, 3000), (70000,)):
    values, indices = torch.mode(torch.randn(shape, device="cuda"))
    print(list(values.shape), list(indices.shape))
