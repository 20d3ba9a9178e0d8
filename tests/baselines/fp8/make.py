#!/usr/bin/env python3
"""Writes what FP8 products are held against: formats and products in numpy, from their definition.

    .venv/bin/python tests/baselines/fp8/make.py            # rewrites projection.safetensors
    .venv/bin/python tests/baselines/fp8/make.py --check    # recomputes and compares

E4M3 and E5M2 are those of Micikevicius et al. 2022 (arXiv 2209.05433, table 1), rounded by hand:
no FP8 type of any library takes part, and nothing is shared with train/techniques/fp8_linear.cpp.
tests/train/techniques/fp8_linear_test.cpp computes the same projection.
Exit code 77: there is no numpy.
"""

import argparse
import sys
from pathlib import Path

try:
    import numpy as np
except ModuleNotFoundError:
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "optim"))
from make import load, save  # noqa: E402  (safetensors, FP32)

PATH = Path(__file__).resolve().parent / "projection.safetensors"
TOKENS, INPUTS, OUTPUTS = 32, 48, 16
SMALLEST_MAGNITUDE = np.float32(1e-12)


class Format:
    """A sign, `exponent` bits with that bias, `mantissa` bits; subnormal numbers below."""

    def __init__(self, mantissa, lowest_exponent, largest):
        self.mantissa, self.lowest, self.largest = mantissa, lowest_exponent, np.float32(largest)

    def round(self, values):
        """To the nearest number of the format, ties to the even one. Of values within it."""
        _, exponent = np.frexp(values)  # values = m * 2^exponent with 0.5 <= |m| < 1
        step = np.ldexp(1.0, np.maximum(exponent - 1, self.lowest) - self.mantissa)
        return np.rint(values.astype("f8") / step) * step


E4M3 = Format(mantissa=3, lowest_exponent=-6, largest=448)
E5M2 = Format(mantissa=2, lowest_exponent=-14, largest=57344)


def quantize(values, form):
    """Codes, as the numbers they are, and the scale of the whole tensor; FP32 as on a card."""
    scale = np.maximum(np.abs(values).max(), SMALLEST_MAGNITUDE) / form.largest
    return form.round(values / scale), scale


def to_bf16(values):
    """The nearest BF16 number, ties to even, as FP32."""
    bits = np.asarray(values, dtype="f4").view("u4").astype("u8")
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return bits.astype("u4").view("f4")


def product(a, b):
    """a b^T of codes with scales, in double precision, rounded once."""
    (a_codes, a_scale), (b_codes, b_scale) = a, b
    return to_bf16((a_codes @ b_codes.T) * (np.float64(a_scale) * np.float64(b_scale)))


def transposed(quantized):
    return quantized[0].T, quantized[1]


def make_projection():
    draw = np.random.default_rng(8)
    x = draw.standard_normal((TOKENS, INPUTS)).astype("f4")
    x *= np.exp2(draw.integers(-12, 4, size=x.shape)).astype("f4")  # subnormal codes among them
    x[0] = 0
    weight = (draw.standard_normal((OUTPUTS, INPUTS)) / 7).astype("f4")
    dy = to_bf16(draw.standard_normal((TOKENS, OUTPUTS)) * 1e-5
                 * np.exp2(draw.integers(-30, 4, size=(TOKENS, OUTPUTS))))
    x8, weight8, dy8 = quantize(x, E4M3), quantize(weight, E4M3), quantize(dy, E5M2)
    made = {"x": x, "weight": weight, "dy": dy, "y": product(x8, weight8),
            "dx": product(dy8, transposed(weight8)),
            "dweight": product(transposed(dy8), transposed(x8))}
    for name, (codes, scale) in {"x": x8, "weight": weight8, "dy": dy8}.items():
        made[name + "_codes"] = codes
        made[name + "_scale"] = np.array([scale])
    return {name: np.asarray(values, dtype="f4") for name, values in made.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    made = make_projection()
    if not parser.parse_args().check:
        save(PATH, made)
        return 0
    stored = load(PATH)
    wrong = [name for name, values in made.items()
             if not np.allclose(stored[name], values, rtol=2**-7, atol=0)]
    if stored.keys() != made.keys() or wrong:
        print(f"{PATH.name}: other values of {', '.join(wrong) or 'other tensors'}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
