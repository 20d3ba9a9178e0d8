#!/usr/bin/env python3
"""Peer: PyTorch eager as a careful user writes it, with the library's fused operations.

scaled_dot_product_attention, rms_norm, silu, cross_entropy, torch.optim.AdamW(fused=True); q|k|v
and w1|w3 are one matrix each.

Shape legend: B batch, S context, D model width, H heads, N head width, V vocabulary.
"""

from __future__ import annotations

import argparse
import math

import torch
from measure import run
from torch import Tensor, nn
from torch.nn import functional
from workload import (
    ADAM_EPS,
    BETA1,
    BETA2,
    NORM_EPS,
    ROPE_THETA,
    Batch,
    Shape,
    make_parser,
    parse,
    shape_of,
)


class RmsNorm(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_model))

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.weight.shape, self.weight, NORM_EPS)


def rope_tables(head_dim: int, context_length: int) -> tuple[Tensor, Tensor]:
    frequencies = ROPE_THETA ** -(torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    angles = torch.outer(torch.arange(context_length, dtype=torch.float32), frequencies)
    return angles.cos(), angles.sin()


def rotate(x_BHSN: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    x1, x2 = x_BHSN[..., 0::2], x_BHSN[..., 1::2]
    return torch.cat((cos * x1 - sin * x2, sin * x1 + cos * x2), dim=-1)


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.qkv_proj = nn.Linear(shape.d_model, shape.d_model + 2 * shape.kv_dim, bias=False)
        self.output_proj = nn.Linear(shape.d_model, shape.d_model, bias=False)

    def forward(self, x_BSD: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        shape = self.shape
        heads = (shape.heads, shape.kv_heads, shape.kv_heads)
        projected = self.qkv_proj(x_BSD).unflatten(-1, (sum(heads), shape.head_dim))
        q, k, v = projected.transpose(1, 2).split(heads, dim=1)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        mixed_BHSN = functional.scaled_dot_product_attention(
            q, k, v.to(q.dtype), is_causal=True, enable_gqa=shape.heads != shape.kv_heads
        )
        return self.output_proj(mixed_BHSN.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.w13 = nn.Linear(shape.d_model, 2 * shape.d_ff, bias=False)
        self.w2 = nn.Linear(shape.d_ff, shape.d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.w13(x).chunk(2, dim=-1)
        return self.w2(functional.silu(gate) * up)


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.ln1 = RmsNorm(shape.d_model)
        self.attn = Attention(shape)
        self.ln2 = RmsNorm(shape.d_model)
        self.ffn = FeedForward(shape)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x), cos, sin)
        return x + self.ffn(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, shape: Shape, context_length: int) -> None:
        super().__init__()
        self.token_embeddings = nn.Embedding(shape.vocab_size, shape.d_model)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.ln_final = RmsNorm(shape.d_model)
        self.lm_head = nn.Linear(shape.d_model, shape.vocab_size, bias=False)
        cos, sin = rope_tables(shape.head_dim, context_length)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens_BS: Tensor) -> Tensor:
        x = self.token_embeddings(tokens_BS)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.lm_head(self.ln_final(x))


def fuse_weights(weights: dict[str, Tensor], layers: int) -> dict[str, Tensor]:
    """The state with q|k|v and w1|w3 stacked along their outputs."""
    fused = dict(weights)
    for i in range(layers):
        attention, feed_forward = f"layers.{i}.attn", f"layers.{i}.ffn"
        qkv = [fused.pop(f"{attention}.{name}_proj.weight") for name in "qkv"]
        fused[f"{attention}.qkv_proj.weight"] = torch.cat(qkv)
        w13 = [fused.pop(f"{feed_forward}.{name}.weight") for name in ("w1", "w3")]
        fused[f"{feed_forward}.w13.weight"] = torch.cat(w13)
    return fused


class SdpaFused:
    name = "sdpa_fused"

    def __init__(self, options: argparse.Namespace, weights: dict[str, Tensor]) -> None:
        shape = shape_of(options)
        with torch.device(options.device):
            self.model = Transformer(shape, options.context_length)
        self.model.load_state_dict(fuse_weights(weights, shape.layers))
        self.steps = 0
        self.optimizer: torch.optim.Optimizer | None = None
        if options.profile_type == "training":
            self.optimizer = torch.optim.AdamW(
                self.model.parameters(),
                lr=options.learning_rate,
                betas=(BETA1, BETA2),
                weight_decay=options.weight_decay,
                fused=True,
            )

    def logits(self, tokens_BS: Tensor) -> Tensor:
        return self.model(tokens_BS)

    def loss(self, batch: Batch) -> Tensor:
        logits_BSV = self.logits(batch.tokens_BS)
        return functional.cross_entropy(logits_BSV.flatten(0, 1), batch.targets_BS.flatten())

    def zero_grad(self) -> None:
        self.model.zero_grad(set_to_none=True)

    def optimizer_step(self) -> None:
        assert self.optimizer is not None
        self.steps += 1
        # torch adds epsilon after the bias correction, the workload before it; this much is equal.
        self.optimizer.param_groups[0]["eps"] = ADAM_EPS / math.sqrt(1 - BETA2**self.steps)
        self.optimizer.step()


if __name__ == "__main__":
    run(SdpaFused, parse(make_parser(__doc__.splitlines()[0])))
