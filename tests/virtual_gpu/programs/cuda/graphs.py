"""A captured graph, replayed; a graphed callable, trained through."""
import torch

x = torch.rand(64, 64, device="cuda")
with torch.cuda.stream(torch.cuda.Stream()):
    y = x @ x
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = (x @ x).relu()
for _ in range(5):
    graph.replay()
layer = torch.cuda.make_graphed_callables(torch.nn.Linear(64, 64).cuda(), (x,))
layer(x).sum().backward()
