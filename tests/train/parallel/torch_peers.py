#!/usr/bin/env python3
"""One rank of torch's own FSDP2 or pipelining, on Gloo, training the assignment's model.

usage: torch_peers.py WAY WEIGHTS TOKENS SETTINGS     (RANK, WORLD_SIZE, ... are set)

WAY: fsdp2 (fully_shard of every block and the model), fsdp2-units (of the token table, every block,
final norm with head), pipeline. SETTINGS is JSON: the dimensions, sequences, micro_batches, steps.
Prints a JSON list of losses on the rank that has them: with FSDP2 every rank those of its own
sequences, else the last stage. With FSDP2 also an object: collectives of the last step by kind.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "studies" / "peers"))
import safetensors_file  # noqa: E402
from eager_reference import Transformer, cross_entropy  # noqa: E402

WAY, WEIGHTS, TOKENS, SETTINGS = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]


def batches(settings, own, of):
    """Windows of the file; `own` is which of `of` replicas'."""
    ids = torch.frombuffer(bytearray(TOKENS.read_bytes()), dtype=torch.uint16).to(torch.int64)
    length = settings.sequences * settings.context_length
    for step in range(settings.steps):
        first = (step * of + own) * length
        shape = (settings.sequences, settings.context_length)
        yield (ids[first:first + length].view(shape), ids[first + 1:first + length + 1].view(shape))


def optimizer_of(module, settings):
    return torch.optim.AdamW(module.parameters(), lr=settings.learning_rate, weight_decay=0.01,
                             foreach=False)


class Collectives(TorchDispatchMode):
    """Counts what reaches process groups, by kind."""

    def __init__(self):
        super().__init__()
        self.calls = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "c10d":
            name = func._schema.name.split("::")[1]
            kind = KINDS.get(name, name)
            self.calls[kind] = self.calls.get(kind, 0) + 1
        return func(*args, **(kwargs or {}))


KINDS = {"_allgather_base_": "all_gather", "allgather_into_tensor_coalesced_": "all_gather",
         "_reduce_scatter_base_": "reduce_scatter",
         "reduce_scatter_tensor_coalesced_": "reduce_scatter", "allreduce_": "all_reduce"}


def fsdp2(model, settings):
    if WAY == "fsdp2-units":
        fully_shard(model.token_embeddings)
        fully_shard([model.ln_final, model.lm_head])
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = optimizer_of(model, settings)
    losses = []
    for tokens, targets in batches(settings, dist.get_rank(), dist.get_world_size()):
        optimizer.zero_grad()
        with Collectives() as collectives:
            loss = cross_entropy(model(tokens), targets)
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    print(json.dumps(collectives.calls))
    return losses


class Stage(nn.Module):
    """The first half of the layers behind the table, or the second one before the head."""

    def __init__(self, model, rank):
        super().__init__()
        half = len(model.layers) // 2
        self.rope = model.rope
        self.table = model.token_embeddings if rank == 0 else None
        self.layers = model.layers[:half] if rank == 0 else model.layers[half:]
        self.norm, self.head = (None, None) if rank == 0 else (model.ln_final, model.lm_head)

    def forward(self, x):
        if self.table is not None:
            x = self.table(x)
        for layer in self.layers:
            x = layer(x, self.rope)
        return x if self.head is None else self.head(self.norm(x))


def pipeline(model, settings):
    rank = dist.get_rank()
    module = Stage(model, rank)
    stage = PipelineStage(module, rank, dist.get_world_size(), torch.device("cpu"))
    schedule = Schedule1F1B(stage, settings.micro_batches, loss_fn=cross_entropy)
    optimizer = optimizer_of(module, settings)
    losses = []
    for tokens, targets in batches(settings, 0, 1):
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(tokens)
        else:
            parts = []
            schedule.step(target=targets, losses=parts)
            losses.append(torch.stack(parts).mean().item())
        optimizer.step()
    return losses


def main():
    settings = SimpleNamespace(**json.loads(SETTINGS))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    settings.head_dim = settings.d_model // settings.heads
    settings.kv_heads = settings.heads
    settings.kv_dim = settings.d_model
    model = Transformer(settings, settings.context_length)
    model.load_state_dict(safetensors_file.load(WEIGHTS))
    losses = pipeline(model, settings) if WAY == "pipeline" else fsdp2(model, settings)
    if losses:
        print(json.dumps(losses))
    dist.destroy_process_group()


main()
