"""Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022),
arXiv 2205.05198, equation 1: what one layer keeps for backward. No torch here.

In bytes per layer, with 2-byte activations, GELU of width 4h and dropout: s*b*h*(34 + 5*a*s/h).

The paper counts, per token and unit of width, 32 bytes in 2-byte elements and 2 bytes in dropout
masks of 1 byte; per attention score, 4 bytes in 2-byte elements and a mask of 1 byte. So with
4-byte elements it is s*b*h*(66 + 9*a*s/h): the elements double, the masks stay. The workload has
neither dropout nor GELU; the formula is applied as people apply it, unchanged.
"""

from __future__ import annotations

MASK_BYTES_PER_UNIT = 2
ELEMENTS_PER_UNIT = 16
MASK_BYTES_PER_SCORE = 1
ELEMENTS_PER_SCORE = 2


def layer_bytes(s: int, b: int, h: int, a: int, element_bytes: int) -> int:
    """s tokens, b sequences, width h, a heads; element_bytes 2 (the paper's) or 4."""
    units, scores = s * b * h, a * s * s * b
    return units * (ELEMENTS_PER_UNIT * element_bytes + MASK_BYTES_PER_UNIT) + scores * (
        ELEMENTS_PER_SCORE * element_bytes + MASK_BYTES_PER_SCORE
    )


def formula_text(element_bytes: int) -> str:
    per_unit = ELEMENTS_PER_UNIT * element_bytes + MASK_BYTES_PER_UNIT
    per_score = ELEMENTS_PER_SCORE * element_bytes + MASK_BYTES_PER_SCORE
    return f"s*b*h*({per_unit}+{per_score}*a*s/h)"
