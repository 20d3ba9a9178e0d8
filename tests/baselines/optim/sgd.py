"""SGD with momentum: Sutskever et al. 2013, in the form of most libraries (b = mu b + g), with
decoupled weight decay as in algorithm 1 of Loshchilov and Hutter 2019 (arXiv 1711.05101)."""

from make import LEARNING_RATE, WEIGHT_DECAY

MOMENTUM = 0.9


def update(name, p, g, step, state):
    b = state["b"] = MOMENTUM * state.get("b", 0.0) + g
    p -= LEARNING_RATE * b + LEARNING_RATE * WEIGHT_DECAY * p
