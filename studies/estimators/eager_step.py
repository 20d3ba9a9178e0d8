#!/usr/bin/env python3
"""The eager reference on a CUDA device, weights unwritten: what headroom dryrun is given.

An ordinary CUDA program: it knows nothing of virtual devices, and runs on a real card as well.
"""

from __future__ import annotations

import peer_modules  # noqa: F401
import torch
from measure import run_step
from program import one_line_errors, options_of, say, unwritten_peer, zero_batch


def main() -> None:
    options = options_of(__doc__.splitlines()[0])
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
