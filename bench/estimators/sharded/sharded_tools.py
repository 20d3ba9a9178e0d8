"""The tools that say something of sharded training, in the words of tools.py. No torch here."""

from __future__ import annotations

import estimator_modules  # noqa: F401
from sharded_rows import TRUTH
from tools import Tool

HERE = "bench/estimators/sharded"
CARD = "h100-80gb"
ZERO = ("zero2", "zero3")
MEMTRACKER = f"{HERE}/fsdp2_memtracker.py --ranks {{ranks}} {{cell}}"
DRYRUN = f"{{headroom}} dryrun --card {CARD}"
FSDP2_ONLY = "it tracks models under FSDP2 only"

# The first is what the others are held to: the program itself, rank 0 alone.
ALL_TOOLS = (
    Tool(
        TRUTH,
        f"{DRYRUN} --world-size {{ranks}} --rank 0 --json {{result}} -- "
        f"{{venv}} {HERE}/training.py {{cell}}",
        ("fsdp2", *ZERO, "megatron"),
        missing_codes=(2, 5),
    ),
    Tool(
        "fsdp2-memtracker-cuda",
        f"{{python}} {MEMTRACKER} --device cuda",
        ("fsdp2",),
        FSDP2_ONLY,
    ),
    Tool("fsdp2-memtracker-cpu", f"{{python}} {MEMTRACKER} --device cpu", ("fsdp2",), FSDP2_ONLY),
    Tool(
        "fsdp2-memtracker-virtual",
        f"{DRYRUN} -- {{python}} {MEMTRACKER} --device cuda",
        ("fsdp2",),
        FSDP2_ONLY,
    ),
    Tool(
        "deepspeed-all-live",
        f"{{venv}} {HERE}/deepspeed_all_live.py --ranks {{ranks}} {{cell}}",
        ZERO,
        "it estimates ZeRO-2 and ZeRO-3 only",
    ),
    Tool(
        "megatron-theory",
        f"{DRYRUN} -- {{python}} {HERE}/megatron_theory.py --ranks {{ranks}} {{cell}}",
        ("megatron",),
        "it knows Megatron-LM's own model only",
    ),
    Tool("accelerate", "accelerate estimate-memory", (), "it knows no ranks"),
)
