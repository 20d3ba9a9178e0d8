#!/usr/bin/env python3
"""Writes the baselines that the C++ model is tested against.

An independent implementation of the workload, written from its description and sharing no code with
the C++ model or with studies/peers. Run it with the Python of the pinned torch wheel:

    .venv/bin/python tests/baselines/make_baselines.py            # rewrites the files beside it
    .venv/bin/python tests/baselines/make_baselines.py --check    # recomputes and compares

Shape legend: B batch, S context, D model width, H heads, N head width, V vocabulary.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

Weights = dict[str, Tensor]

LEARNING_RATE = 1e-2
WEIGHT_DECAY = 0.01
BETA1, BETA2, ADAM_EPS = 0.9, 0.999, 1e-8
ROPE_THETA = 10000.0
NORM_EPS = 1e-5
STEPS = 10
# Another CPU sums in another order; a larger difference is a change of the mathematics.
CHECK_TOLERANCE = {"fp32": 1e-5, "bf16": 1e-2}


@dataclass(frozen=True)
class Case:
    name: str
    d_model: int
    d_ff: int
    layers: int
    heads: int
    kv_heads: int
    vocab_size: int
    batch_size: int
    context_length: int
    seed: int
    head_width: int = 0  # 0: the model's width, divided
    tied_embeddings: bool = False
    qkv_bias: bool = False
    qk_norm: bool = False

    @property
    def head_dim(self) -> int:
        return self.head_width or self.d_model // self.heads


CASES = (
    Case("tiny", 32, 64, 2, 4, 4, 96, 2, 16, seed=1),
    Case("tiny_gqa", 32, 48, 1, 4, 2, 64, 2, 16, seed=2),
    Case("tiny_besides", 32, 48, 2, 4, 2, 64, 2, 16, seed=3, head_width=12, tied_embeddings=True, qkv_bias=True,
         qk_norm=True),
)


def initial_weights(case: Case) -> Weights:
    """Seeded values in the order of the state names; norm weights are not one, so they count."""
    generator = torch.Generator().manual_seed(case.seed)

    def matrix(rows: int, columns: int) -> Tensor:
        return torch.randn(rows, columns, generator=generator) * math.sqrt(2 / (rows + columns))

    def norm(width: int = case.d_model) -> Tensor:
        return 1 + 0.1 * torch.randn(width, generator=generator)

    d, q_dim, kv_dim = case.d_model, case.heads * case.head_dim, case.kv_heads * case.head_dim
    table = matrix(case.vocab_size, d) if case.tied_embeddings else torch.randn(case.vocab_size, d, generator=generator)
    weights = {"token_embeddings.weight": table}
    for i in range(case.layers):
        layer = f"layers.{i}"
        weights[f"{layer}.ln1.weight"] = norm()
        weights[f"{layer}.attn.q_proj.weight"] = matrix(q_dim, d)
        weights[f"{layer}.attn.k_proj.weight"] = matrix(kv_dim, d)
        weights[f"{layer}.attn.v_proj.weight"] = matrix(kv_dim, d)
        weights[f"{layer}.attn.output_proj.weight"] = matrix(d, q_dim)
        if case.qkv_bias:
            for projection, width in (("q", q_dim), ("k", kv_dim), ("v", kv_dim)):
                weights[f"{layer}.attn.{projection}_proj.bias"] = 0.3 * torch.randn(width, generator=generator)
        if case.qk_norm:
            for projection in ("q", "k"):
                weights[f"{layer}.attn.{projection}_norm.weight"] = norm(case.head_dim)
        weights[f"{layer}.ln2.weight"] = norm()
        weights[f"{layer}.ffn.w1.weight"] = matrix(case.d_ff, d)
        weights[f"{layer}.ffn.w2.weight"] = matrix(d, case.d_ff)
        weights[f"{layer}.ffn.w3.weight"] = matrix(case.d_ff, d)
    weights["ln_final.weight"] = norm()
    if not case.tied_embeddings:
        weights["lm_head.weight"] = matrix(case.vocab_size, d)
    return weights


def make_tokens(case: Case) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1000 + case.seed)
    shape = (case.batch_size, case.context_length)
    tokens = torch.randint(case.vocab_size, shape, generator=generator)
    targets = torch.randint(case.vocab_size, shape, generator=generator)
    return tokens, targets


def linear(weight: Tensor, x: Tensor) -> Tensor:
    return x @ weight.T


def rms_norm(weight: Tensor, x: Tensor) -> Tensor:
    x_wide = x.to(torch.promote_types(x.dtype, torch.float32))
    inverse_rms = (x_wide.pow(2).mean(-1, keepdim=True) + NORM_EPS).rsqrt()
    return (weight * (x_wide * inverse_rms)).to(x.dtype)


def rope_tables(case: Case, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    exponents = torch.arange(0, case.head_dim, 2, dtype=torch.float64) / case.head_dim
    positions = torch.arange(case.context_length, dtype=torch.float64)
    angles = torch.outer(positions, ROPE_THETA**-exponents)
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x_BHSN: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    even, odd = x_BHSN[..., 0::2], x_BHSN[..., 1::2]
    return torch.cat((cos * even - sin * odd, sin * even + cos * odd), dim=-1)


def attention(case: Case, weights: Weights, layer: str, x_BSD: Tensor) -> Tensor:
    def heads_of(projection: str, count: int) -> Tensor:
        projected = linear(weights[f"{layer}.attn.{projection}.weight"], x_BSD)
        if case.qkv_bias:
            projected = projected + weights[f"{layer}.attn.{projection}.bias"].to(projected.dtype)
        heads = projected.unflatten(-1, (count, case.head_dim))
        if case.qk_norm and projection != "v_proj":
            heads = rms_norm(weights[f"{layer}.attn.{projection[0]}_norm.weight"], heads)
        return heads.transpose(1, 2)

    cos, sin = rope_tables(case, weights["ln_final.weight"].dtype)
    q = rotate(heads_of("q_proj", case.heads), cos, sin)
    k = rotate(heads_of("k_proj", case.kv_heads), cos, sin)
    v = heads_of("v_proj", case.kv_heads)
    if case.kv_heads != case.heads:
        k = k.repeat_interleave(case.heads // case.kv_heads, dim=1)
        v = v.repeat_interleave(case.heads // case.kv_heads, dim=1)

    scores_BHSS = (q @ k.transpose(-1, -2)) / math.sqrt(case.head_dim)
    future = torch.ones(case.context_length, case.context_length, dtype=torch.bool).triu(1)
    scores_BHSS = scores_BHSS.masked_fill(future, -math.inf)
    exponentials = (scores_BHSS - scores_BHSS.amax(-1, keepdim=True)).exp()
    probabilities = exponentials / exponentials.sum(-1, keepdim=True)
    merged = (probabilities @ v).transpose(1, 2).flatten(2)
    return linear(weights[f"{layer}.attn.output_proj.weight"], merged)


def feed_forward(weights: Weights, layer: str, x: Tensor) -> Tensor:
    gate = linear(weights[f"{layer}.ffn.w1.weight"], x)
    up = linear(weights[f"{layer}.ffn.w3.weight"], x)
    return linear(weights[f"{layer}.ffn.w2.weight"], gate * gate.sigmoid() * up)


def forward(case: Case, weights: Weights, tokens: Tensor) -> Tensor:
    x = weights["token_embeddings.weight"][tokens]
    for i in range(case.layers):
        layer = f"layers.{i}"
        x = x + attention(case, weights, layer, rms_norm(weights[f"{layer}.ln1.weight"], x))
        x = x + feed_forward(weights, layer, rms_norm(weights[f"{layer}.ln2.weight"], x))
    head = weights["token_embeddings.weight" if case.tied_embeddings else "lm_head.weight"]
    return linear(head, rms_norm(weights["ln_final.weight"], x))


def mean_cross_entropy(logits_BSV: Tensor, targets_BS: Tensor) -> Tensor:
    shifted = logits_BSV - logits_BSV.amax(-1, keepdim=True)
    log_probabilities = shifted - shifted.exp().sum(-1, keepdim=True).log()
    return -log_probabilities.gather(-1, targets_BS.unsqueeze(-1)).mean()


def adamw_step(weights: Weights, m: Weights, v: Weights, step: int) -> None:
    alpha = LEARNING_RATE * math.sqrt(1 - BETA2**step) / (1 - BETA1**step)
    with torch.no_grad():
        for name, p in weights.items():
            g = p.grad
            p -= LEARNING_RATE * WEIGHT_DECAY * p
            m[name] = BETA1 * m[name] + (1 - BETA1) * g
            v[name] = BETA2 * v[name] + (1 - BETA2) * g * g
            p -= alpha * m[name] / (v[name].sqrt() + ADAM_EPS)


def train(case: Case, start: Weights, dtype: torch.dtype, autocast: bool) -> dict[str, Tensor]:
    """Ten steps from `start`: the first step's logits and gradients, and every loss."""
    weights = {name: w.to(dtype, copy=True).requires_grad_() for name, w in start.items()}
    m = {name: torch.zeros_like(w) for name, w in weights.items()}
    v = {name: torch.zeros_like(w) for name, w in weights.items()}
    tokens, targets = make_tokens(case)
    result: dict[str, Tensor] = {}
    losses = []
    for step in range(1, STEPS + 1):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits = forward(case, weights, tokens)
            loss = mean_cross_entropy(logits, targets)
        for w in weights.values():
            w.grad = None
        loss.backward()
        if step == 1:
            result["logits"] = logits.detach().to(torch.promote_types(logits.dtype, torch.float32))
            result |= {f"gradients.{name}": w.grad for name, w in weights.items()}
        losses.append(loss.item())
        adamw_step(weights, m, v, step)
    return result | {"losses": torch.tensor(losses, dtype=torch.float64)}


def relative_error(value: Tensor, reference: Tensor) -> float:
    """Norm of the difference over the norm of the reference."""
    difference = (value.double() - reference.double()).norm()
    return (difference / reference.double().norm()).item()


def save_safetensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """8 bytes of header length (little endian), the header as JSON, then the data, rows first."""
    dtype_names = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}
    header: dict[str, object] = {"__metadata__": metadata}
    data = b""
    for name, tensor in tensors.items():
        raw = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {
            "dtype": dtype_names[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def load_safetensors(path: Path) -> dict[str, Tensor]:
    dtypes = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64}
    raw = bytearray(path.read_bytes())
    (length,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + length])
    data = raw[8 + length :]
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = torch.frombuffer(data[begin:end], dtype=dtypes[entry["dtype"]])
            tensors[name] = flat.view(entry["shape"])
    return tensors


def compute(case: Case) -> tuple[Weights, dict[str, Tensor], dict[str, object]]:
    """The initial weights, everything expected of them, and the case's part of baselines.json."""
    weights = initial_weights(case)
    tokens, targets = make_tokens(case)
    fp32 = train(case, weights, torch.float32, autocast=False)
    bf16 = train(case, weights, torch.float32, autocast=True)
    fp64 = train(case, weights, torch.float64, autocast=False)
    expected = {"tokens": tokens, "targets": targets} | fp32
    expected |= {"bf16.logits": bf16["logits"], "bf16.losses": bf16["losses"]}
    gradient_names = [name for name in fp32 if name.startswith("gradients.")]
    description = {
        "shape": asdict(case),
        "weights_file": f"{case.name}_weights.safetensors",
        "expected_file": f"{case.name}_expected.safetensors",
        "parameters": sum(w.numel() for w in weights.values()),
        "losses": fp32["losses"].tolist(),
        "bf16_losses": bf16["losses"].tolist(),
        "fp32_error_against_fp64": {
            "logits": relative_error(fp32["logits"], fp64["logits"]),
            "worst_gradient": max(relative_error(fp32[n], fp64[n]) for n in gradient_names),
            "losses": relative_error(fp32["losses"], fp64["losses"]),
        },
        "bf16_error_against_fp32": {
            "logits": relative_error(bf16["logits"], fp32["logits"]),
            "losses": relative_error(bf16["losses"], fp32["losses"]),
        },
    }
    return weights, expected, description


def self_check(case: Case, expected: dict[str, Tensor]) -> None:
    again = train(case, initial_weights(case), torch.float32, autocast=False)
    assert all(torch.equal(again[name], expected[name]) for name in again), "not repeatable"
    for kind in ("losses", "bf16.losses"):
        losses = expected[kind]
        assert losses[-1] < 0.8 * losses[0], f"{case.name}: {kind} do not fall"


def write(folder: Path) -> None:
    cases = []
    for case in CASES:
        weights, expected, description = compute(case)
        self_check(case, expected)
        note = {"made_by": "tests/baselines/make_baselines.py", "case": case.name}
        save_safetensors(folder / f"{case.name}_weights.safetensors", weights, note)
        save_safetensors(folder / f"{case.name}_expected.safetensors", expected, note)
        cases.append(description)
    document = {
        "made_by": "tests/baselines/make_baselines.py",
        "torch": torch.__version__,
        "optimizer": {
            "name": "adamw",
            "learning_rate": LEARNING_RATE,
            "weight_decay": WEIGHT_DECAY,
            "beta1": BETA1,
            "beta2": BETA2,
            "eps": ADAM_EPS,
            "steps": STEPS,
        },
        "rope_theta": ROPE_THETA,
        "norm_eps": NORM_EPS,
        "expected_tensors": {
            "tokens, targets": "I64 [batch, context]; the same batch at every step",
            "logits": "F32 [batch, context, vocabulary], before the first step",
            "gradients.<state name>": "F32, of the first loss",
            "losses": "F64 [steps], each before its optimizer step; the values are FP32 results",
            "bf16.logits, bf16.losses": "the same under torch.autocast('cpu', bfloat16)",
        },
        "cases": cases,
    }
    (folder / "baselines.json").write_text(json.dumps(document, indent=2) + "\n")


def check(folder: Path) -> list[str]:
    """Differences between the files and a fresh computation; empty when there are none."""
    problems = []
    for case in CASES:
        weights, expected, _ = compute(case)
        fresh = weights | expected
        stored = load_safetensors(folder / f"{case.name}_weights.safetensors")
        stored |= load_safetensors(folder / f"{case.name}_expected.safetensors")
        if stored.keys() != fresh.keys():
            problems.append(f"{case.name}: other tensors than expected")
            continue
        for name, tensor in fresh.items():
            tolerance = CHECK_TOLERANCE["bf16" if name.startswith("bf16.") else "fp32"]
            error = relative_error(stored[name], tensor)
            if not error <= tolerance:
                problems.append(f"{case.name}: {name} differs by {error:.1e}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, metavar="DIR")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if not arguments.check:
        write(arguments.output)
        return 0
    problems = check(arguments.output)
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
