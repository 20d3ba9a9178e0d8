"""The rows of scripts/program_matrix.sh: distributed programs as their users start them."""

from __future__ import annotations

from dataclasses import dataclass, field

TORCHRUN = "-m torch.distributed.run --standalone --nproc-per-node {ranks}"


@dataclass(frozen=True)
class Row:
    name: str  # --rows picks by it
    what: str
    program: str  # and its arguments, in tests/virtual_gpu/programs/distributed
    ranks: int
    alone: str = ""  # those of the ranks that run, each alone; "" is all of them together
    launcher: str = TORCHRUN  # of ranks together; its arguments to Python
    shown: str = "torchrun"
    needs: tuple[str, ...] = ()  # distributions beside torch
    flags: tuple[str, ...] = ()  # of headroom dryrun
    environment: dict[str, str] = field(default_factory=dict)


ROWS = (
    Row("fsdp2", "FSDP2, BF16 mixed", "fsdp2.py", 2),
    Row("fsdp2-70b", "FSDP2, Llama 70B, 8,192 tokens", "fsdp2.py 70b", 128, "0,127"),
    Row("fsdp2-405b", "FSDP2, Llama 405B, 8,192 tokens", "fsdp2.py 405b", 512, "0,511"),
)
