#!/usr/bin/env python3
"""Peer: every block and the head with its loss under torch.compile, one function each; the peak.

The functions are those of model/compiled/block.py, so that headroom --kernels compiled and this
program differ in who runs the kernels alone. Run it under `headroom dryrun`; the last line is JSON.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "model" / "compiled"))

import block as description  # noqa: E402

NUMBERS = ("d_model", "d_ff", "layers", "heads", "kv_heads", "vocab_size", "context_length",
           "batch_size")


def parameter(*shape):
    return torch.zeros(shape, device="cuda").requires_grad_()


class Model:
    def __init__(self, options):
        d, f = options.d_model, options.d_ff
        kv = d // options.heads * options.kv_heads
        table = (options.context_length, d // options.heads // 2)
        self.tables = [torch.zeros(table, device="cuda") for _ in range(2)]
        self.embeddings = parameter(options.vocab_size, d)
        shapes = ((d, d), (kv, d), (kv, d), (d, d), (f, d), (d, f), (f, d), (d,), (d,))
        self.blocks = [[parameter(*shape) for shape in shapes] for _ in range(options.layers)]
        self.head = [parameter(d), parameter(options.vocab_size, d)]
        settings = {"attention": options.attention, "norm_eps": 1e-5}
        # Both run the code of autocast(); without dynamic=False the second shape makes it dynamic.
        compiled = partial(torch.compile, dynamic=False)
        self.run_block = compiled(self.autocast(partial(description.block, settings), options))
        self.run_head = compiled(self.autocast(partial(description.head_loss, settings), options))
        self.shape = (options.batch_size, options.context_length)

    @staticmethod
    def autocast(function, options):
        def run(*args):
            with torch.autocast("cuda", torch.bfloat16, enabled=options.precision == "bf16",
                                cache_enabled=False):
                return function(*args)
        return run

    def parameters(self):
        return [self.embeddings, *(one for block in self.blocks for one in block), *self.head]

    def step(self):
        """As headroom: the tokens first, then the last step's gradients are freed."""
        tokens, targets = (torch.zeros(self.shape, dtype=torch.int64, device="cuda") for _ in range(2))
        for one in self.parameters():
            one.grad = None
        x = self.embeddings[tokens]
        for block in self.blocks:
            x = self.run_block(x, *block, *self.tables)
        loss = self.run_head(x, *self.head, targets)
        del x
        loss.backward()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in NUMBERS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, required=True)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--attention", choices=("eager", "sdpa"), default="sdpa")
    options = parser.parse_args()
    model = Model(options)
    for _ in range(2):
        model.step()
    torch.cuda.empty_cache()  # as headroom between warm-up and measurement
    torch.cuda.reset_peak_memory_stats()
    model.step()
    peaks = torch.cuda.memory_stats()
    print(json.dumps({f"peak_{kind}_bytes": peaks[f"{kind}_bytes.all.peak"]
                      for kind in ("allocated", "requested")}))


if __name__ == "__main__":
    main()
