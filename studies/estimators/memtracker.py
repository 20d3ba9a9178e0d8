#!/usr/bin/env python3
"""torch's FakeTensorMode and MemTracker: one step of the eager reference, no arithmetic done.

--device cuda is the program as it is meant. A machine without a card can go only as far as torch's
fake mode does there; --device cpu is what users then fall back on: other autocast rules, and no
rounding to the CUDA allocator's 512 bytes.
"""

from __future__ import annotations

import argparse

import peer_modules  # noqa: F401
import torch
from measure import precision_scope, run_step
from program import one_line_errors, options_of, say, tracked_bytes, unwritten_peer, zero_batch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker


def refuse_lost_autocast(options: argparse.Namespace) -> None:
    """Without a card torch.autocast("cuda") only warns, and the step would silently be FP32."""
    with precision_scope(options):
        if options.precision == "bf16" and not torch.is_autocast_enabled(options.device):
            raise RuntimeError(f"torch.autocast({options.device!r}) switches itself off: no GPU")


def peak_bytes(options: argparse.Namespace) -> int:
    with FakeTensorMode():
        peer, batch = unwritten_peer(options), zero_batch(options)
        tracker = MemTracker()
        if peer.optimizer:
            run_step(peer, options, batch)  # its first step makes the moments
            peer.zero_grad()
            # Never in a variable here: a step replaces the moments, and the old ones must go.
            tracker.track_external(*peer.optimizer.m.values(), *peer.optimizer.v.values())
        tracker.track_external(peer.model, batch.tokens_BS, batch.targets_BS)
        with tracker:
            run_step(peer, options, batch)
        snapshot = tracker.get_tracker_snapshot("peak")
    return tracked_bytes(snapshot, options.device)


def main() -> None:
    options = options_of(__doc__.splitlines()[0])
    refuse_lost_autocast(options)
    note = "one step, of training the second; weights, moments and batch tracked from before it"
    if options.device == "cpu":
        note += "; fake device cpu: CPU autocast rules, no rounding to 512 bytes"
    say(peak_bytes=peak_bytes(options), note=note)


if __name__ == "__main__":
    one_line_errors(main)
