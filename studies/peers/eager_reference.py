#!/usr/bin/env python3
"""Peer: the assignment's operation sequence in Python eager, one operation at a time.

Its memory is to be the assignment's too: locals live as long as they do there, and the maximum is
`max`, which keeps small indices for backward where `amax` keeps its whole input.

Shape legend: B batch, S context, D model width, H heads, N head width, V vocabulary.
"""

from __future__ import annotations

import argparse
import math

import torch
from measure import run
from torch import Tensor, nn
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


class Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("...i,oi->...o", x, self.weight)


class Embedding(nn.Module):
    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))

    def forward(self, tokens_BS: Tensor) -> Tensor:
        return self.weight[tokens_BS]


class RmsNorm(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_model))

    def forward(self, x: Tensor) -> Tensor:
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPS)
        return (self.weight * x).to(dtype)


class Rope(nn.Module):
    def __init__(self, head_dim: int, context_length: int) -> None:
        super().__init__()
        frequencies = ROPE_THETA ** -(torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
        angles = torch.outer(torch.arange(context_length, dtype=torch.float32), frequencies)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x_BHSN: Tensor) -> Tensor:
        x1, x2 = x_BHSN[..., 0::2], x_BHSN[..., 1::2]
        rotated1 = self.cos * x1 - self.sin * x2
        rotated2 = self.sin * x1 + self.cos * x2
        return torch.cat((rotated1, rotated2), dim=-1)


def softmax(x: Tensor) -> Tensor:
    shifted = x - x.max(-1, keepdim=True).values
    exponentials = torch.exp(shifted)
    return exponentials / exponentials.sum(-1, keepdim=True)


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.q_proj = Linear(shape.d_model, shape.d_model)
        self.k_proj = Linear(shape.d_model, shape.kv_dim)
        self.v_proj = Linear(shape.d_model, shape.kv_dim)
        self.output_proj = Linear(shape.d_model, shape.d_model)

    def split_heads(self, x_BSD: Tensor, heads: int) -> Tensor:
        batch, context, _ = x_BSD.shape
        return x_BSD.view(batch, context, heads, self.shape.head_dim).transpose(1, 2)

    def repeat_kv(self, x: Tensor) -> Tensor:
        repeats = self.shape.heads // self.shape.kv_heads
        return x if repeats == 1 else x.repeat_interleave(repeats, dim=1)

    def forward(self, x_BSD: Tensor, rope: Rope) -> Tensor:
        batch, context, width = x_BSD.shape
        q = rope(self.split_heads(self.q_proj(x_BSD), self.shape.heads))
        k = rope(self.split_heads(self.k_proj(x_BSD), self.shape.kv_heads))
        v = self.split_heads(self.v_proj(x_BSD), self.shape.kv_heads)
        k, v = self.repeat_kv(k), self.repeat_kv(v)

        queries = torch.arange(context, device=x_BSD.device).view(-1, 1)
        keys = torch.arange(context, device=x_BSD.device).view(1, -1)
        mask_SS = queries >= keys
        scores_BHSS = torch.einsum("bhqn,bhkn->bhqk", q, k) / math.sqrt(self.shape.head_dim)
        scores_BHSS = torch.where(mask_SS, scores_BHSS, -math.inf)
        mixed_BHSN = torch.einsum("bhqk,bhkn->bhqn", softmax(scores_BHSS), v)
        merged_BSD = mixed_BHSN.transpose(1, 2).contiguous().view(batch, context, width)
        return self.output_proj(merged_BSD)


def silu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


class FeedForward(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.w1 = Linear(shape.d_model, shape.d_ff)
        self.w2 = Linear(shape.d_ff, shape.d_model)
        self.w3 = Linear(shape.d_model, shape.d_ff)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.ln1 = RmsNorm(shape.d_model)
        self.attn = Attention(shape)
        self.ln2 = RmsNorm(shape.d_model)
        self.ffn = FeedForward(shape)

    def forward(self, x: Tensor, rope: Rope) -> Tensor:
        x = x + self.attn(self.ln1(x), rope)
        return x + self.ffn(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, shape: Shape, context_length: int) -> None:
        super().__init__()
        self.token_embeddings = Embedding(shape.vocab_size, shape.d_model)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.ln_final = RmsNorm(shape.d_model)
        self.lm_head = Linear(shape.d_model, shape.vocab_size)
        self.rope = Rope(shape.head_dim, context_length)

    def forward(self, tokens_BS: Tensor) -> Tensor:
        x = self.token_embeddings(tokens_BS)
        for layer in self.layers:
            x = layer(x, self.rope)
        x = self.ln_final(x)  # the residual stream ends here, before the logits come
        return self.lm_head(x)


def log_softmax(x: Tensor) -> Tensor:
    shifted = x - x.max(-1, keepdim=True).values
    return shifted - torch.log(torch.exp(shifted).sum(-1, keepdim=True))


def cross_entropy(logits_BSV: Tensor, targets_BS: Tensor) -> Tensor:
    negative_log_probabilities_BSV = -log_softmax(logits_BSV)
    return negative_log_probabilities_BSV.gather(-1, targets_BS.unsqueeze(-1)).mean()


class AdamW:
    """Out of place, tensor by tensor: every step makes new moments, and zeros in case there are none."""

    def __init__(self, parameters: list[nn.Parameter], lr: float, weight_decay: float) -> None:
        self.parameters = parameters
        self.lr = lr
        self.weight_decay = weight_decay
        self.steps = 0
        self.m: dict[int, Tensor] = {}
        self.v: dict[int, Tensor] = {}

    @torch.no_grad()
    def step(self) -> None:
        self.steps += 1
        alpha = self.lr * math.sqrt(1 - BETA2**self.steps) / (1 - BETA1**self.steps)
        for i, p in enumerate(self.parameters):
            p -= self.lr * self.weight_decay * p
            previous_m = self.m.get(i, torch.zeros_like(p.grad))
            previous_v = self.v.get(i, torch.zeros_like(p.grad))
            m = BETA1 * previous_m + (1 - BETA1) * p.grad
            v = BETA2 * previous_v + (1 - BETA2) * torch.square(p.grad)
            p -= alpha * m / (torch.sqrt(v) + ADAM_EPS)
            self.m[i] = m
            self.v[i] = v


class EagerReference:
    name = "eager_reference"

    def __init__(self, options: argparse.Namespace, weights: dict[str, Tensor]) -> None:
        with torch.device(options.device):
            self.model = Transformer(shape_of(options), options.context_length)
        self.model.load_state_dict(weights)
        self.optimizer: AdamW | None = None
        self.step_logits: Tensor | None = None
        if options.profile_type == "training":
            parameters = list(self.model.parameters())
            self.optimizer = AdamW(parameters, options.learning_rate, options.weight_decay)

    def logits(self, tokens_BS: Tensor) -> Tensor:
        return self.model(tokens_BS)

    def loss(self, batch: Batch) -> Tensor:
        # The logits live through backward, as the local variable of a training loop does.
        self.step_logits = self.model(batch.tokens_BS)
        return cross_entropy(self.step_logits, batch.targets_BS)

    def zero_grad(self) -> None:
        self.step_logits = None
        for parameter in self.model.parameters():
            parameter.grad = None

    def optimizer_step(self) -> None:
        assert self.optimizer is not None
        self.optimizer.step()


if __name__ == "__main__":
    run(EagerReference, parse(make_parser(__doc__.splitlines()[0])))
