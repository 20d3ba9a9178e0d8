"""The measuring protocol of every peer: the same as `headroom profile`'s.

Warm-up steps first, which are not timed; then cached memory goes back to the card. Then each step alone on the host clock: gradients are set
to None, the step runs, the device is waited for, the clock stops. A batch is on the device before
its step's clock starts; losses are read after it has stopped.

Modes: forward (no_grad, logits only), forward-grad (logits only, kept for backward and released
before the next step), forward-backward (forward, loss, backward), training (and the optimizer).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import platform
import time
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor
from workload import SIZES, Batch, TokenStream, initial_weights, shape_of


class Peer(Protocol):
    name: str

    def logits(self, tokens_BS: Tensor) -> Tensor: ...

    def loss(self, batch: Batch) -> Tensor: ...

    def zero_grad(self) -> None: ...

    def optimizer_step(self) -> None: ...


MODES_WITH_LOSS = ("forward-backward", "training")


class PeerType(Protocol):
    def __call__(self, options: argparse.Namespace, weights: dict[str, Tensor]) -> Peer: ...


def precision_scope(options: argparse.Namespace) -> contextlib.AbstractContextManager:
    if options.precision == "bf16":
        return torch.autocast(options.device, torch.bfloat16)
    return contextlib.nullcontext()


def run_step(peer: Peer, options: argparse.Namespace, batch: Batch) -> Tensor:
    """The loss, or the logits in the two modes that have no loss."""
    peer.zero_grad()
    mode = options.profile_type
    with torch.set_grad_enabled(mode != "forward"), precision_scope(options):
        result = peer.loss(batch) if mode in MODES_WITH_LOSS else peer.logits(batch.tokens_BS)
    if mode in MODES_WITH_LOSS:
        result.backward()
    if mode == "training":
        peer.optimizer_step()
    return result


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def timed_step(peer: Peer, options: argparse.Namespace, batch: Batch) -> tuple[float, Tensor]:
    """Milliseconds, and what run_step gave."""
    wait(options.device)
    begin = time.perf_counter()
    result = run_step(peer, options, batch)
    wait(options.device)
    return (time.perf_counter() - begin) * 1e3, result


def set_up_torch(options: argparse.Namespace) -> None:
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.set_float32_matmul_precision("high" if options.precision == "tf32" else "highest")
    torch.manual_seed(options.seed)


def finite(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if math.isfinite(value) else None


def measure(peer: Peer, options: argparse.Namespace, stream: TokenStream) -> dict[str, object]:
    all_ms: list[float] = []
    losses: list[Tensor] = []
    for step in range(options.warmup_steps + options.measure_steps):
        if options.device == "cuda" and step == options.warmup_steps:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        milliseconds, result = timed_step(peer, options, stream.batch(step, options.device))
        all_ms.append(milliseconds)
        if options.profile_type in MODES_WITH_LOSS:
            # A copy: a captured graph writes the next loss into the same memory.
            losses.append(result.detach().float().clone())
        del result
    first = options.warmup_steps
    return {
        "step_ms": all_ms[first:],
        "losses": [finite(loss.item()) for loss in losses[first:]],
        "time_to_first_step_ms": all_ms[0],
    }


def processor_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def versions(options: argparse.Namespace) -> dict[str, object]:
    found: dict[str, object] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "processor": processor_name(),
        "threads": torch.get_num_threads(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
    }
    if options.device == "cuda":
        found |= {
            "card": torch.cuda.get_device_name(),
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
        }
    return found


def device_memory() -> dict[str, int]:
    """Peaks of the measured steps; "requested" is what the program asked for, before rounding."""
    statistics = torch.cuda.memory_stats()
    return {
        "peak_allocated_bytes": statistics["allocated_bytes.all.peak"],
        "peak_reserved_bytes": statistics["reserved_bytes.all.peak"],
        "peak_requested_bytes": statistics["requested_bytes.all.peak"],
    }


def spec(options: argparse.Namespace) -> dict[str, object]:
    """The flags under their Record names; the dimensions as they were used."""
    named = {name: value for name, value in vars(options).items() if name != "json"}
    shape = shape_of(options)
    if shape != SIZES[options.model_size]:
        named["model_size"] = "custom"
    named |= vars(shape)
    return {name: str(v) if isinstance(v, Path) else v for name, v in named.items()}


def run(peer_type: PeerType, options: argparse.Namespace) -> None:
    """Builds the peer, measures it and writes its one line of JSON."""
    set_up_torch(options)
    shape = shape_of(options)
    stream = TokenStream.open(options, shape.vocab_size)
    weights = initial_weights(shape, options.load_weights, options.seed)
    peer = peer_type(options, weights)
    del weights
    result: dict[str, object] = {"peer": peer.name, "spec": spec(options)}
    result |= measure(peer, options, stream)
    result["versions"] = versions(options)
    if options.device == "cuda":
        result |= device_memory()
    line = json.dumps(result)
    if options.json == "-":
        print(line)
    else:
        with open(options.json, "a", encoding="utf-8") as file:
            file.write(line + "\n")
