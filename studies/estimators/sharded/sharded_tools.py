"""The tools that say something of sharded training, in the words of tools.py. No torch here."""

from __future__ import annotations

import estimator_modules  # noqa: F401
from sharded_rows import OWN_STATES, OWN_TRUTH, TRUTH
from tools import Tool

HERE = "studies/estimators/sharded"
CARD = "h100-80gb"
ZERO = ("zero2", "zero3")
MEMTRACKER = f"{HERE}/fsdp2_memtracker.py --ranks {{ranks}} {{cell}}"
DRYRUN = f"{{headroom}} dryrun --card {CARD}"
OWN = ("own-zero2", "own-zero3")
OWN_STEP = f"{{python}} {HERE}/own_step.py --headroom {{headroom}} --ranks {{ranks}} {{cell}}"
OWN_ONLY = "it runs our own step only"
FSDP2_ONLY = "it tracks models under FSDP2 only"

# The first two are what the others are held to: the program itself, rank 0 alone, and our own
# step's fullest rank.
ALL_TOOLS = (
    Tool(
        TRUTH,
        f"{DRYRUN} --world-size {{ranks}} --rank 0 --json {{result}} -- "
        f"{{venv}} {HERE}/training.py {{cell}}",
        ("fsdp2", *ZERO, "megatron"),
        "it runs programs of torch's, DeepSpeed's and Megatron-LM's only",
        missing_codes=(2, 5),
    ),
    Tool(OWN_TRUTH, f"{OWN_STEP} --figure peak", OWN, OWN_ONLY, missing_codes=(2, 5)),
    Tool(OWN_STATES, f"{OWN_STEP} --figure states", OWN, OWN_ONLY, missing_codes=(2, 5)),
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
        (*ZERO, *OWN),
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
