"""torch refuses what it finds by values that it reads back inside: a search without a result,
repeats that are negative, no distinct element, arguments of a distribution."""

import torch

for shape in ((4, 3000), (70000,)):
    values, indices = torch.mode(torch.randn(shape, device="cuda"))
    print(list(values.shape), list(indices.shape))

repeats = torch.randint(3, (100,), device="cuda")
print(list(torch.randn(100, device="cuda").repeat_interleave(repeats).shape))

values = torch.randint(50, (1000,), device="cuda")
distinct, inverse, counts = torch.unique(values, return_inverse=True, return_counts=True)
print(list(distinct.shape), list(inverse.shape), list(counts.shape))
print(list(torch.unique(values.view(-1, 2), dim=0).shape), list(torch.isin(values, values).shape))

logits = torch.randn(4, 10, device="cuda", requires_grad=True)
actions = torch.distributions.Categorical(logits=logits)
print(list(actions.log_prob(actions.sample()).shape))
