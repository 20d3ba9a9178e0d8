"""A model of Llama's shape, in plain PyTorch, for the programs of this folder."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


@dataclass
class Shape:
    width: int
    layers: int
    heads: int
    key_heads: int
    hidden: int
    vocabulary: int
    context: int
    is_checkpointed: bool = False


LLAMAS = {
    "tiny": Shape(256, 4, 8, 4, 704, 1024, 128),
    "70b": Shape(8192, 80, 64, 8, 28672, 128256, 8192, True),
    "405b": Shape(16384, 126, 128, 8, 53248, 128256, 4096, True),
}


class Attention(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.head = shape.width // shape.heads
        self.q = nn.Linear(shape.width, shape.heads * self.head, bias=False)
        self.k = nn.Linear(shape.width, shape.key_heads * self.head, bias=False)
        self.v = nn.Linear(shape.width, shape.key_heads * self.head, bias=False)
        self.out = nn.Linear(shape.heads * self.head, shape.width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            projected.unflatten(-1, (-1, self.head)).transpose(1, 2)
            for projected in (self.q(x), self.k(x), self.v(x))
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).flatten(-2))


class FeedForward(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.attention_norm = nn.RMSNorm(shape.width)
        self.attention = Attention(shape)
        self.feed_forward_norm = nn.RMSNorm(shape.width)
        self.feed_forward = FeedForward(shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class Llama(nn.Module):
    """Rotations are left out: they take no parameters."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.is_checkpointed = shape.is_checkpointed
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.is_checkpointed else layer(x)
        return self.head(self.norm(x))
