"""A pipeline of torch.distributed.pipelining, one stage a rank.

usage: pipeline.py [1f1b|gpipe|interleaved] [--shapes]
--shapes: the stages are told their inputs' and outputs' shapes; else they learn them from each other.
"""

import os
import sys

import torch
import torch.distributed as dist
from llama import LLAMAS, Llama, Shape
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
)
from torch.nn import functional

MICROBATCHES, BATCH = 8, 16


class Part(torch.nn.Module):
    """A stage's share of the model: the first embeds, the last has the head."""

    def __init__(self, shape: Shape, stage: int, stages: int):
        super().__init__()
        whole = Llama(shape)
        each = shape.layers // stages
        self.embedding = whole.embedding if stage == 0 else None
        self.layers = whole.layers[stage * each : (stage + 1) * each]
        self.norm = whole.norm if stage == stages - 1 else None
        self.head = whole.head if stage == stages - 1 else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        return x if self.head is None else self.head(self.norm(x))


def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def stage_of(shape: Shape, stage: int, stages: int, is_told: bool) -> PipelineStage:
    device = torch.device("cuda", torch.cuda.current_device())
    part = Part(shape, stage, stages).to(device)
    given = {}
    if is_told:
        rows = BATCH // MICROBATCHES
        tokens = torch.zeros(rows, shape.context, dtype=torch.long, device="meta")
        hidden = torch.zeros(rows, shape.context, shape.width, device="meta")
        logits = torch.zeros(rows, shape.context, shape.vocabulary, device="meta")
        given["input_args"] = tokens if stage == 0 else hidden
        given["output_args"] = logits if stage == stages - 1 else hidden
    return PipelineStage(part, stage, stages, device, **given)


def main() -> None:
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    kind = next((word for word in sys.argv[1:] if word != "--shapes"), "1f1b")
    shape = LLAMAS["tiny"]
    torch.manual_seed(1)
    if kind == "interleaved":
        numbers = [rank, rank + ranks]
        stages = [stage_of(shape, n, 2 * ranks, "--shapes" in sys.argv) for n in numbers]
        schedule = ScheduleInterleaved1F1B(stages, MICROBATCHES, loss_fn=loss_of)
    else:
        stages = [stage_of(shape, rank, ranks, "--shapes" in sys.argv)]
        chosen = ScheduleGPipe if kind == "gpipe" else Schedule1F1B
        schedule = chosen(stages[0], MICROBATCHES, loss_fn=loss_of)
    parameters = [p for stage in stages for p in stage.submod.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-4)
    for _ in range(2):
        tokens = torch.randint(0, shape.vocabulary, (BATCH, shape.context), device="cuda")
        inputs = (tokens,) if rank == 0 else ()
        if rank == ranks - 1:
            losses = []
            schedule.step(*inputs, target=tokens, losses=losses)
        else:
            schedule.step(*inputs)
        optimizer.step()
        optimizer.zero_grad()
    print(f"rank {rank}: {torch.cuda.max_memory_allocated() / 2**20:.1f} MiB")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
