"""The models and the command line that the tools and the program itself share."""

from __future__ import annotations

import argparse
from dataclasses import replace

import estimator_modules  # noqa: F401
from command_line import OneLineParser, positive, refuse
from llama import LLAMAS, Llama, Shape

# Width, layers, heads, key heads, hidden, vocabulary, context.
SHAPES = {
    "1.3B": Shape(2048, 24, 16, 16, 5504, 32000, 2048),
    "7B": Shape(4096, 32, 32, 32, 11008, 128000, 2048),
    "8B": Shape(4096, 32, 32, 8, 14336, 128256, 4096),
    "70B": LLAMAS["70b"],
}
MODES = ("fsdp2", "zero2", "zero3", "own-zero2", "own-zero3", "megatron")


def make_parser(description: str) -> OneLineParser:
    parser = OneLineParser(description)
    parser.add_argument("--mode", choices=MODES, required=True)
    parser.add_argument("--size", required=True, help="a shape, or a case of Megatron-LM")
    parser.add_argument("--checkpointed", action="store_true")
    return parser


def make_rank_parser(description: str) -> OneLineParser:
    """For tools that are told of how many ranks they are asked."""
    parser = make_parser(description)
    parser.add_argument("--ranks", type=positive, required=True)
    return parser


def shape_of(options: argparse.Namespace) -> Shape:
    if options.size not in SHAPES:
        refuse(f"--size: {options.size!r} is unknown; allowed: {', '.join(SHAPES)}")
    return replace(SHAPES[options.size], is_checkpointed=options.checkpointed)


def meta_model(options: argparse.Namespace) -> Llama:
    import torch

    with torch.device("meta"):
        return Llama(shape_of(options))
