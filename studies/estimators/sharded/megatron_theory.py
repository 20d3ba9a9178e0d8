#!/usr/bin/env python3
"""Megatron-LM's report_theoretical_memory of one of its own test cases, with its flags.

It reads numbers only, but the check of tensor parallel flags before it asks which card there is.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile

import estimator_modules  # noqa: F401
from command_line import OneLineParser, positive
from megatron_program import checkout, enter
from program import one_line_errors, say


def total_bytes() -> int:
    from megatron.core import num_microbatches_calculator as microbatches
    from megatron.training.arguments import parse_args, validate_args
    from megatron.training.theoretical_memory_usage import report_theoretical_memory
    from megatron.training.tokenizer.tokenizer import build_tokenizer

    args = parse_args()
    validate_args(args, {})
    build_tokenizer(args)  # pads the vocabulary
    microbatches.init_num_microbatches_calculator(
        args.rank,
        args.rampup_batch_size,
        args.global_batch_size,
        args.micro_batch_size,
        args.data_parallel_size,
    )
    _, _, total_mib = report_theoretical_memory(args, microbatches.get_num_microbatches())
    return round(total_mib * 2**20)


def main() -> None:
    parser = OneLineParser(__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=("megatron",), required=True)
    parser.add_argument("--size", required=True, help="the case")
    parser.add_argument("--ranks", type=positive, required=True)
    options = parser.parse_args()
    if not checkout():
        say(status="missing", reason="MEGATRON_LM names no checkout of Megatron-LM")
        return
    os.environ |= {"WORLD_SIZE": str(options.ranks), "RANK": "0"}
    with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(sys.stderr):
        enter(options.size, work)
        found = total_bytes()
    say(
        peak_bytes=found,
        note="a formula of the fullest stage's weights, optimizer states and activations; "
        "attention's matrices are not in it",
    )


if __name__ == "__main__":
    one_line_errors(main)
