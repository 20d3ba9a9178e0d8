"""Layers whose activations are nothing beside their weights: 16 bytes a parameter at the peak."""
import torch

model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096, bias=False) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)  # no temporaries
for _ in range(2):
    model(torch.rand(1, 4096, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.reset_peak_memory_stats()  # the peak before it is the run's still
print(sum(p.numel() for p in model.parameters()))
