#!/usr/bin/env python3
"""Parameters x 16 bytes and the activation formula of arXiv 2205.05198, added up."""

from __future__ import annotations

import peer_modules  # noqa: F401
from activation_formula import formula_text, layer_bytes
from program import one_line_errors, options_of, parameter_count, say
from workload import shape_of

# FP32 weights, gradients and two Adam moments; a forward alone has only the weights.
BYTES_PER_PARAMETER = {
    "forward": 4,
    "forward-grad": 4,
    "forward-backward": 8,
    "training": 16,
}


def main() -> None:
    options = options_of(__doc__)
    shape = shape_of(options)
    element_bytes = 2 if options.precision == "bf16" else 4
    state_bytes = BYTES_PER_PARAMETER[options.profile_type]
    per_layer = layer_bytes(
        options.context_length, options.batch_size, shape.d_model, shape.heads, element_bytes
    )
    kept = 0 if options.profile_type == "forward" else shape.layers * per_layer
    say(
        peak_bytes=parameter_count(options) * state_bytes + kept,
        note=f"{options.profile_type} {options.precision}: {state_bytes} bytes per parameter + "
        f"layers*{formula_text(element_bytes)}; its time is torch's import, for the shared shapes",
    )


if __name__ == "__main__":
    one_line_errors(main)
