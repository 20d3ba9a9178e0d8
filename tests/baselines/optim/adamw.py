"""AdamW: Loshchilov and Hutter 2019 (arXiv 1711.05101), algorithm 2, with the bias corrections in
the rate as in section 2 of Kingma and Ba 2015, so that epsilon is added to the square root of v."""

import numpy as np
from make import LEARNING_RATE, WEIGHT_DECAY

B1, B2, EPS = 0.9, 0.999, 1e-8


def update(name, p, g, step, state):
    m = state["m"] = B1 * state.get("m", 0.0) + (1 - B1) * g
    v = state["v"] = B2 * state.get("v", 0.0) + (1 - B2) * g**2
    rate = LEARNING_RATE * np.sqrt(1 - B2**step) / (1 - B1**step)
    p -= rate * m / (np.sqrt(v) + EPS) + LEARNING_RATE * WEIGHT_DECAY * p
