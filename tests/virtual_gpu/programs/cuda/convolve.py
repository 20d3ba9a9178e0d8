"""Convolutions, batch norm and a recurrent network of cuDNN, a factorization of cuSOLVER."""
import torch

image = torch.rand(8, 3, 64, 64, device="cuda")
network = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3, 2)
).cuda()
network(image).sum().backward()
lstm = torch.nn.LSTM(64, 64).cuda()
lstm(torch.rand(16, 8, 64, device="cuda"))[0].sum().backward()
torch.linalg.cholesky(torch.eye(64, device="cuda"))
print(torch.cuda.max_memory_allocated())
