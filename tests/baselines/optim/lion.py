"""Lion: Chen et al. 2023, Symbolic Discovery of Optimization Algorithms (arXiv 2302.06675),
algorithm 2, with its default betas."""

import numpy as np
from make import LEARNING_RATE, WEIGHT_DECAY

B1, B2 = 0.9, 0.99


def update(name, p, g, step, state):
    m = state.get("m", 0.0)
    c = B1 * m + (1 - B1) * g
    p -= LEARNING_RATE * (np.sign(c) + WEIGHT_DECAY * p)
    state["m"] = B2 * m + (1 - B2) * g
