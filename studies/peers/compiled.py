#!/usr/bin/env python3
"""Peer: sdpa_fused under torch.compile (needs g++ on a CPU, triton on a card).

Compilation happens in the first step, whose time is time_to_first_step_ms; warm up at least once.
"""

from __future__ import annotations

import argparse

import torch
from measure import run
from sdpa_fused import SdpaFused
from torch import Tensor
from workload import make_parser, parse


class Compiled(SdpaFused):
    name = "compiled"

    def __init__(self, options: argparse.Namespace, weights: dict[str, Tensor]) -> None:
        super().__init__(options, weights)
        if options.compile_mode != "default":
            self.name = f"compiled_{options.compile_mode}"
        compiled = {"mode": options.compile_mode, "fullgraph": True, "dynamic": False}
        self.logits = torch.compile(self.logits, **compiled)
        self.loss = torch.compile(super().loss, **compiled)


if __name__ == "__main__":
    parser = make_parser(__doc__.splitlines()[0])
    modes = ("default", "reduce-overhead", "max-autotune")
    parser.add_argument("--compile-mode", choices=modes, default="default")
    run(Compiled, parse(parser))
