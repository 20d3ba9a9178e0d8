#!/usr/bin/env python3
"""The eager reference on a CUDA device, weights unwritten: what headroom dryrun is given.

An ordinary CUDA program: it knows nothing of virtual devices, and runs on a real card as well.
"""

from __future__ import annotations

import peer_modules  # noqa: F401
import eager_reference
import torch
from measure import run_step
from program import one_line_errors, options_of, say, unwritten_peer, zero_batch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


class SdpaAttention(eager_reference.Attention):
    """The assignment's layer with libtorch's own attention in its middle."""

    def forward(self, x_BSD: Tensor, rope: eager_reference.Rope) -> Tensor:
        batch, context, width = x_BSD.shape
        q = rope(self.split_heads(self.q_proj(x_BSD), self.shape.heads))
        k = rope(self.split_heads(self.k_proj(x_BSD), self.shape.kv_heads))
        v = self.split_heads(self.v_proj(x_BSD), self.shape.kv_heads)
        k, v = self.repeat_kv(k), self.repeat_kv(v)
        mixed_BHSN = scaled_dot_product_attention(q, k, v, is_causal=True)
        merged_BSD = mixed_BHSN.transpose(1, 2).contiguous().view(batch, context, width)
        return self.output_proj(merged_BSD)


def main() -> None:
    options = options_of(__doc__.splitlines()[0], attention=("standard", "sdpa"))
    if options.attention == "sdpa":
        eager_reference.Attention = SdpaAttention
    peer, batch = unwritten_peer(options), zero_batch(options)
    for step in range(options.warmup_steps + options.measure_steps):
        if step == options.warmup_steps:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        run_step(peer, options, batch)
    torch.cuda.synchronize()
    say(peak_bytes=torch.cuda.max_memory_allocated())


if __name__ == "__main__":
    one_line_errors(main)
