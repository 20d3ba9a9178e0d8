"""A decoder in BF16 autocast with torch's attention and AdamW; prints the allocator's own peak."""
import torch
from torch.nn import functional as F


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).unbind(2)
        mixed = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True
        )
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(x)))


embedding = torch.nn.Embedding(4096, 512).cuda()
blocks = torch.nn.Sequential(*[Block(512, 8) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW([*embedding.parameters(), *blocks.parameters()])
for _ in range(3):
    tokens = torch.randint(4096, (4, 512), device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        logits = F.linear(blocks(embedding(tokens)), embedding.weight)
        loss = F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.max_memory_allocated())
