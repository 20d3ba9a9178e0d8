"""The computation of every peer: shapes, flags, initial weights and tokens.

Note [The token stream]
Rationale: two programs compare only when step k of both sees the same tokens.
Approach: a token file is a flat array of little-endian uint16 ids. With B sequences of S tokens,
  step k (from 0, warm-up steps counted) takes the B*S + 1 ids from position k*B*S on, positions
  modulo the number of ids in the file. The first B*S ids, as B rows of S, are the inputs; the same
  ids shifted by one position, as B rows of S, are the targets.
Limits: uint16, so vocabularies up to 65,536. The C++ side (--tokens) reads files by this rule;
  without a file each program draws its own tokens, which do not compare.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch
from command_line import OneLineParser, natural, positive, refuse
from safetensors_file import load
from torch import Tensor

ROPE_THETA = 10000.0
NORM_EPS = 1e-5
BETA1, BETA2, ADAM_EPS = 0.9, 0.999, 1e-8
MODES = ("forward", "forward-grad", "forward-backward", "training")
PRECISIONS = ("fp32", "tf32", "bf16")


@dataclass(frozen=True)
class Shape:
    d_model: int
    d_ff: int
    layers: int
    heads: int
    kv_heads: int
    vocab_size: int

    @property
    def head_dim(self) -> int:
        return self.d_model // self.heads

    @property
    def kv_dim(self) -> int:
        return self.kv_heads * self.head_dim


SIZES = {
    "small": Shape(768, 3072, 12, 12, 12, 10000),
    "medium": Shape(1024, 4096, 24, 16, 16, 10000),
    "large": Shape(1280, 5120, 36, 20, 20, 10000),
    "xl": Shape(1600, 6400, 48, 25, 25, 10000),
    "2.7B": Shape(2560, 10240, 32, 32, 32, 10000),
    "10B": Shape(4608, 12288, 50, 36, 36, 10000),
}
DIMENSIONS = tuple(Shape.__dataclass_fields__)


@dataclass(frozen=True)
class Batch:
    tokens_BS: Tensor
    targets_BS: Tensor


def make_parser(description: str) -> OneLineParser:
    parser = OneLineParser(description)
    add = parser.add_argument
    add("--model-size", choices=SIZES, default="small")
    for name in DIMENSIONS:
        add(f"--{name.replace('_', '-')}", type=positive, help="instead of the named size's")
    add("--context-length", type=positive, default=512, help="tokens per sequence")
    add("--batch-size", type=positive, default=4, help="sequences per step")
    add("--profile-type", choices=MODES, default="training")
    add("--precision", choices=PRECISIONS, default="fp32", help="bf16 is autocast")
    add("--warmup-steps", type=natural, default=5, help="steps that are not timed")
    add("--measure-steps", type=positive, default=10, help="timed steps")
    add("--learning-rate", type=float, default=1e-3)
    add("--weight-decay", type=float, default=0.01)
    add("--threads", type=natural, default=0, help="CPU threads; 0 is torch's choice")
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--seed", type=int, default=0, help="of weights and tokens that come from no file")
    add("--load-weights", type=Path, metavar="FILE.safetensors")
    add("--tokens", type=Path, metavar="FILE", help="uint16 token ids")
    add("--json", nargs="?", const="-", default="-", metavar="FILE", help="default: stdout")
    return parser


def parse(parser: OneLineParser, arguments: list[str] | None = None) -> argparse.Namespace:
    options = parser.parse_args(arguments)
    for flag, path in (("--load-weights", options.load_weights), ("--tokens", options.tokens)):
        if path is not None and not path.is_file():
            parser.error(f"{flag}: no file {path}")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch sees no CUDA device; use --device cpu")
    if options.precision == "tf32" and options.device == "cpu":
        parser.error("--precision tf32: a CPU has no TF32; use fp32, or --device cuda")
    shape = shape_of(options)
    if shape.d_model % shape.heads or shape.head_dim % 2 or shape.heads % shape.kv_heads:
        parser.error(f"--heads {shape.heads}, --kv-heads {shape.kv_heads} do not fit --d-model")
    return options


def shape_of(options: argparse.Namespace) -> Shape:
    named = SIZES[options.model_size]
    return Shape(**{name: getattr(options, name) or getattr(named, name) for name in DIMENSIONS})


def weight_shapes(shape: Shape) -> dict[str, tuple[int, ...]]:
    """State names, as in the files that `headroom profile --save-weights` writes; [out, in]."""
    d, vocabulary = shape.d_model, shape.vocab_size
    shapes: dict[str, tuple[int, ...]] = {"token_embeddings.weight": (vocabulary, d)}
    for i in range(shape.layers):
        shapes |= {
            f"layers.{i}.ln1.weight": (d,),
            f"layers.{i}.attn.q_proj.weight": (d, d),
            f"layers.{i}.attn.k_proj.weight": (shape.kv_dim, d),
            f"layers.{i}.attn.v_proj.weight": (shape.kv_dim, d),
            f"layers.{i}.attn.output_proj.weight": (d, d),
            f"layers.{i}.ln2.weight": (d,),
            f"layers.{i}.ffn.w1.weight": (shape.d_ff, d),
            f"layers.{i}.ffn.w2.weight": (d, shape.d_ff),
            f"layers.{i}.ffn.w3.weight": (shape.d_ff, d),
        }
    return shapes | {"ln_final.weight": (d,), "lm_head.weight": (vocabulary, d)}


def initial_weights(shape: Shape, path: Path | None, seed: int) -> dict[str, Tensor]:
    """FP32 on the host, from the file, else seeded."""
    wanted = weight_shapes(shape)
    if path is None:
        generator = torch.Generator().manual_seed(seed)
        return {name: random_weight(size, generator) for name, size in wanted.items()}
    weights = load(path)
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if found != wanted:
        names = [name for name in wanted | found if found.get(name) != wanted.get(name)]
        refuse(f"--load-weights: {path} does not hold this model ({names[0]} differs)")
    return weights


def random_weight(size: tuple[int, ...], generator: torch.Generator) -> Tensor:
    if len(size) == 1:
        return torch.ones(size)
    return torch.randn(size, generator=generator) * (2 / sum(size)) ** 0.5


def read_ids(path: Path, needed: int) -> Tensor:
    """The first `needed` ids, or all of a shorter file, whose end then meets its beginning."""
    size = path.stat().st_size
    if size % 2:
        refuse(f"--tokens: {path} has {size} bytes, which is not whole uint16 ids")
    count = min(size // 2, needed)
    return torch.from_file(str(path), size=count, dtype=torch.uint16).long()


class TokenStream:
    """Batches by Note [The token stream]."""

    def __init__(self, ids: Tensor, batch_size: int, context_length: int) -> None:
        self.ids = ids
        self.batch_shape = (batch_size, context_length)

    @classmethod
    def open(cls, options: argparse.Namespace, vocab_size: int) -> TokenStream:
        steps = options.warmup_steps + options.measure_steps
        needed = steps * options.batch_size * options.context_length + 1
        if options.tokens is None:
            generator = torch.Generator().manual_seed(options.seed)
            ids = torch.randint(vocab_size, (needed,), generator=generator)
        else:
            ids = read_ids(options.tokens, needed)
        if len(ids) == 0 or int(ids.max()) >= vocab_size:
            refuse(f"--tokens: {options.tokens} has no ids, or one beyond {vocab_size - 1}")
        return cls(ids, options.batch_size, options.context_length)

    def batch(self, step: int, device: str) -> Batch:
        size = self.batch_shape[0] * self.batch_shape[1]
        window = self.ids[(torch.arange(size + 1) + step * size) % len(self.ids)]
        return Batch(
            window[:-1].view(self.batch_shape).to(device),
            window[1:].view(self.batch_shape).to(device),
        )
