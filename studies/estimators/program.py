"""The program for the tools: the eager reference of studies/peers, its weights unwritten.

A tool's process answers in one line of JSON on stdout: status, reason, peak_bytes, note, versions.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import peer_modules  # noqa: F401
import torch
from eager_reference import EagerReference, Transformer
from workload import Batch, make_parser, shape_of, weight_shapes

# DeepSpeed looks for an accelerator when it is imported.
os.environ.setdefault("DS_ACCELERATOR", "cpu")


def options_of(description: str, **choices: tuple[str, ...]) -> argparse.Namespace:
    """The peers' flags, and one more of its own for each name in `choices`."""
    parser = make_parser(description)
    for name, words in choices.items():
        parser.add_argument(f"--{name}", choices=words, default=words[0])
    return parser.parse_args()


def unwritten_peer(options: argparse.Namespace) -> EagerReference:
    """Memory that is never written costs the host nothing, and no byte depends on a value."""
    shapes = weight_shapes(shape_of(options))
    return EagerReference(options, {name: torch.empty(size) for name, size in shapes.items()})


def zero_batch(options: argparse.Namespace) -> Batch:
    size = (options.batch_size, options.context_length)
    return Batch(*(torch.zeros(size, dtype=torch.long, device=options.device) for _ in range(2)))


def meta_model(options: argparse.Namespace) -> Transformer:
    with torch.device("meta"):
        return Transformer(shape_of(options), options.context_length)


def parameter_count(options: argparse.Namespace) -> int:
    return sum(parameter.numel() for parameter in meta_model(options).parameters())


def tracked_bytes(snapshot: Mapping, device_type: str) -> int:
    """Of a snapshot of torch's memory trackers, on all devices of a type."""
    return sum(sizes["Total"] for device, sizes in snapshot.items() if device.type == device_type)


def say(**answer: object) -> None:
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    found = answer.get("versions", {})
    assert isinstance(found, Mapping)
    print(json.dumps({"status": "ok", **answer, "versions": versions | dict(found)}))


def not_installed(package: str, error: ImportError) -> None:
    """studies/estimators/compare_estimators.sh leaves pip's last word where it could not install one."""
    why = Path(sys.prefix, f"not-installed-{package}")
    text = why.read_text(encoding="utf-8").strip() if why.is_file() else str(error)
    say(status="missing", reason=f"not installed: {text}")


def one_line_errors(run: Callable[[], None]) -> None:
    """An exception of a tool, as the one line its row needs; libtorch adds a stack to its own."""
    try:
        run()
    except Exception as error:
        first = str(error).strip().splitlines() or ["no message"]
        print(f"{type(error).__name__}: {first[0]}", file=sys.stderr)
        raise SystemExit(4) from None
