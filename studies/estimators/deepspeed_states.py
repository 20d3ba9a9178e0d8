#!/usr/bin/env python3
"""DeepSpeed's estimators of ZeRO-2 and ZeRO-3 model states, on one GPU without offload."""

from __future__ import annotations

import argparse

from program import (
    meta_model,
    not_installed,
    one_line_errors,
    options_of,
    parameter_count,
    say,
)


def largest_layer_parameters(options: argparse.Namespace) -> int:
    """Counted as DeepSpeed counts it on a live model: parameters that one module itself holds."""
    return max(
        sum(parameter.numel() for parameter in module.parameters(recurse=False))
        for module in meta_model(options).modules()
    )


def zero2_bytes(options: argparse.Namespace) -> int:
    from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs

    _, gpu_bytes = estimate_zero2_model_states_mem_needs(
        parameter_count(options), num_gpus_per_node=1, num_nodes=1, cpu_offload=False
    )
    return gpu_bytes


def zero3_bytes(options: argparse.Namespace) -> int:
    from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs

    _, gpu_bytes, _ = estimate_zero3_model_states_mem_needs(
        parameter_count(options),
        largest_layer_parameters(options),
        num_gpus_per_node=1,
        num_nodes=1,
        cpu_offload=False,
        cpu_offload_params=False,
    )
    return gpu_bytes


def main() -> None:
    options = options_of(__doc__, stage=("2", "3"))
    try:
        import deepspeed
    except ImportError as error:
        not_installed("deepspeed", error)
        return
    estimate = zero2_bytes if options.stage == "2" else zero3_bytes
    say(
        peak_bytes=int(estimate(options)),
        note="model states only, FP16 with FP32 masters whatever the cell's precision; "
        "knows neither batch nor context; 1 GPU, no offload",
        versions={"deepspeed": deepspeed.__version__},
    )


if __name__ == "__main__":
    one_line_errors(main)
