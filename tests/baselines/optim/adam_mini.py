"""Adam-mini: Zhang et al. 2024, Adam-mini: Use Fewer Learning Rates To Gain More (arXiv 2406.16793),
algorithm 1 with the partition for Transformers of its appendix, as version 1.1.1 of its authors'
program has it: query and key by heads; value, attention's output, feed-forward, embedding and output
by rows (an output neuron, a token); everything else, here norms, as one block. v is a block's mean of
squared gradients."""

import numpy as np
from make import LEARNING_RATE, WEIGHT_DECAY

B1, B2, EPS = 0.9, 0.999, 1e-8
HEAD_DIM = 8


def blocks_of(name, p):
    if p.ndim == 1:
        return 1
    if "q_proj" in name or "k_proj" in name:
        return p.shape[0] // HEAD_DIM
    return p.shape[0]


def update(name, p, g, step, state):
    blocks = blocks_of(name, p)
    mean_square = (g.reshape(blocks, -1) ** 2).mean(axis=1)
    m = state["m"] = B1 * state.get("m", 0.0) + (1 - B1) * g
    v = state["v"] = B2 * state.get("v", 0.0) + (1 - B2) * mean_square
    rates = LEARNING_RATE / (np.sqrt(v / (1 - B2**step)) + EPS)
    p *= 1 - LEARNING_RATE * WEIGHT_DECAY
    p -= (m.reshape(blocks, -1) / (1 - B1**step) * rates[:, None]).reshape(p.shape)
