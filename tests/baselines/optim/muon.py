"""Muon: Jordan et al. 2024 (https://kellerjordan.github.io/posts/muon), with the update's size of Liu
et al. 2025, Muon is Scalable for LLM Training (arXiv 2502.16982), equation 4, for the matrices of
the blocks; AdamW for the rest. The published iteration runs in BF16, this one in double precision."""

import numpy as np
from make import LEARNING_RATE, WEIGHT_DECAY

MOMENTUM, STEPS = 0.95, 5
A, B, C = 3.4445, -4.7750, 2.0315
B1, B2, EPS = 0.9, 0.999, 1e-8


def orthogonalized(direction):
    x = direction if direction.shape[0] <= direction.shape[1] else direction.T
    x = x / max(np.linalg.norm(x), 1e-7)
    for _ in range(STEPS):
        gram = x @ x.T
        x = A * x + (B * gram + C * gram @ gram) @ x
    return x if direction.shape[0] <= direction.shape[1] else x.T


def by_adamw(p, g, step, state):
    m = state["m"] = B1 * state.get("m", 0.0) + (1 - B1) * g
    v = state["v"] = B2 * state.get("v", 0.0) + (1 - B2) * g**2
    p *= 1 - LEARNING_RATE * WEIGHT_DECAY
    p -= LEARNING_RATE * m / (1 - B1**step) / (np.sqrt(v / (1 - B2**step)) + EPS)


def update(name, p, g, step, state):
    if not name.startswith("layers.") or p.ndim != 2:
        return by_adamw(p, g, step, state)
    m = state["momentum"] = MOMENTUM * state.get("momentum", 0.0) + (1 - MOMENTUM) * g
    direction = MOMENTUM * m + (1 - MOMENTUM) * g
    p *= 1 - LEARNING_RATE * WEIGHT_DECAY
    p -= LEARNING_RATE * 0.2 * np.sqrt(max(p.shape)) * orthogonalized(direction)
