#!/usr/bin/env python3
"""The output of DeepSpeed's estimate_zeroN_model_states_mem_needs_all_live, without offload."""

from __future__ import annotations

import contextlib
import importlib
import io
import re

import estimator_modules  # noqa: F401
from program import not_installed, one_line_errors, say
from shapes import make_rank_parser, meta_model

MODULES = {
    "zero2": "deepspeed.runtime.zero.stage_1_and_2",
    "zero3": "deepspeed.runtime.zero.stage3",
}
# The estimator's "GB" is 2^30; zero_init places the model in the host's memory.
NO_OFFLOAD = re.compile(r"\| +([0-9.]+)GB \| .*offload_optimizer=none *(?:, zero_init=1)?$", re.M)


def printed_bytes(text: str) -> int:
    return round(float(NO_OFFLOAD.findall(text)[-1]) * 2**30)


def main() -> None:
    options = make_rank_parser(__doc__).parse_args()
    try:
        import deepspeed
    except ImportError as error:
        not_installed("deepspeed", error)
        return
    stage = options.mode.removeprefix("own-")
    name = f"estimate_{stage}_model_states_mem_needs_all_live"
    estimate = getattr(importlib.import_module(MODULES[stage]), name)
    nodes = max(1, options.ranks // 8)
    # It counts parameters by their addresses: a model on the meta device is one parameter to it.
    model = meta_model(options).to_empty(device="cpu")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        estimate(model, num_gpus_per_node=options.ranks // nodes, num_nodes=nodes)
    say(
        peak_bytes=printed_bytes(printed.getvalue()),
        note="model states and, of ZeRO-3, the largest layer; neither batch, context nor buffers; "
        "..._all_cold prints the same of the same two counts",
        versions={"deepspeed": deepspeed.__version__},
    )


if __name__ == "__main__":
    one_line_errors(main)
