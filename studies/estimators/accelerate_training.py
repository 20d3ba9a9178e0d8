#!/usr/bin/env python3
"""The figure of `accelerate estimate-memory`, "Training using Adam", for a model of no hub."""

from __future__ import annotations

from program import meta_model, not_installed, one_line_errors, options_of, say

DTYPES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16"}


def main() -> None:
    options = options_of(__doc__)
    try:
        import accelerate
        from accelerate.commands.estimate import estimate_training_usage
        from accelerate.utils import calculate_maximum_sizes
    except ImportError as error:
        not_installed("accelerate", error)
        return
    total_bytes, _ = calculate_maximum_sizes(meta_model(options))
    usage = estimate_training_usage(total_bytes, DTYPES[options.precision])
    say(
        peak_bytes=int(max(usage.values())),
        note="largest of its model, gradients, optimizer and step figures, as its command prints; "
        "knows neither batch nor context",
        versions={"accelerate": accelerate.__version__},
    )


if __name__ == "__main__":
    one_line_errors(main)
