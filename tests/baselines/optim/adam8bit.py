"""AdamW with moments of 8 bits: Dettmers et al. 2022, 8-bit Optimizers via Block-wise Quantization
(arXiv 2110.02861), sections 2 and 3, with the constants of bitsandbytes 0.44 and later: blocks of
256, dynamic maps, tensors of fewer than 4096 elements in FP32, epsilon added to the square root of
the corrected v.

A moment is stored as the nearest of 256 values, a scale per block: its largest magnitude. The values
of the dynamic map: for each power of ten from 1e-6 to 1 the centres of equal steps from a tenth of it
to all of it, 1, 2, 4 ... 64 of them for a signed map (of each sign) and twice as many for an unsigned
one; 0 and 1 besides. tests/baselines/bitsandbytes.py holds them against the library itself.
"""

import numpy as np
from make import LEARNING_RATE, WEIGHT_DECAY

B1, B2, EPS = 0.9, 0.999, 1e-8
BLOCK, SMALLEST = 256, 4096


def dynamic_map(signed):
    values = [0.0, 1.0]
    for exponent in range(7):
        steps = 2**exponent if signed else 2 ** (exponent + 1)
        edges = np.linspace(0.1, 1, steps + 1)
        centres = (edges[1:] + edges[:-1]) / 2 * 10.0 ** (exponent - 6)
        values += [*centres, *-centres] if signed else [*centres]
    return np.sort(np.array(values, "f4"))


def stored(x, values):
    """A moment after it was stored: nearest value times its block's scale, in FP32."""
    flat = x.astype("f4").reshape(-1)
    blocks = np.zeros(-(-flat.size // BLOCK) * BLOCK, "f4")
    blocks[: flat.size] = flat
    blocks = blocks.reshape(-1, BLOCK)
    scales = np.abs(blocks).max(axis=1, keepdims=True)
    relative = blocks / np.where(scales > 0, scales, 1)
    middles = (values[1:] + values[:-1]) / np.float32(2)
    nearest = values[np.searchsorted(middles, relative)]
    return (nearest * scales).reshape(-1)[: flat.size].reshape(x.shape).astype("f8")


SIGNED, UNSIGNED = dynamic_map(True), dynamic_map(False)


def update(name, p, g, step, state):
    m = B1 * state.get("m", 0.0) + (1 - B1) * g
    v = B2 * state.get("v", 0.0) + (1 - B2) * g**2
    p *= 1 - LEARNING_RATE * WEIGHT_DECAY
    p -= LEARNING_RATE * (m / (1 - B1**step)) / (np.sqrt(v / (1 - B2**step)) + EPS)
    small = p.size < SMALLEST
    state["m"] = m if small else stored(m, SIGNED)
    state["v"] = v if small else stored(v, UNSIGNED)
