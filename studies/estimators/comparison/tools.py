"""The tools: how a process of theirs is started, and which cells it can answer. No torch here.

In a command, {python} is the Python of the pinned wheel, {venv} that of the estimators' own
environment, {headroom} our program, {result} a file of the row's own; {cell} is the cell's flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MODES = ("forward-grad", "training")
CARD = "a800-80gb"
# Like the published run: one step is measured after two, and the recording step would add a fourth.
STEPS = "--warmup-steps 2 --measure-steps 1"


@dataclass(frozen=True)
class Tool:
    name: str
    command: str
    modes: tuple[str, ...] = MODES  # others are "not covered"
    why_not: str = ""
    # Exit codes by which a program says that it has no such command, flag or device.
    missing_codes: tuple[int, ...] = ()

    def words(self, values: Mapping[str, str], cell_flags: list[str]) -> list[str]:
        found: list[str] = []
        for word in self.command.split():
            found += cell_flags if word == "{cell}" else [word.format(**values)]
        return found


STATES_ONLY = "it estimates the states of training only"
HERE = "studies/estimators"
ALL_TOOLS = (
    Tool("memtracker-cuda", f"{{python}} {HERE}/memtracker.py --device cuda {{cell}}"),
    Tool("memtracker-cpu", f"{{python}} {HERE}/memtracker.py --device cpu {{cell}}"),
    Tool(
        "deepspeed-zero2",
        f"{{venv}} {HERE}/deepspeed_states.py --stage 2 {{cell}}",
        ("training",),
        STATES_ONLY,
    ),
    Tool(
        "deepspeed-zero3",
        f"{{venv}} {HERE}/deepspeed_states.py --stage 3 {{cell}}",
        ("training",),
        STATES_ONLY,
    ),
    Tool(
        "accelerate",
        f"{{venv}} {HERE}/accelerate_training.py {{cell}}",
        ("training",),
        "it estimates loading and training only",
    ),
    Tool("closed-formula", f"{{python}} {HERE}/closed_formula.py {{cell}}"),
    Tool(
        "headroom-profile",
        f"{{headroom}} profile --device virtual:{CARD} {{cell}} {STEPS} --record-steps 0 "
        "--format json",
        missing_codes=(2, 5),
    ),
    Tool(
        "headroom-dryrun",
        f"{{headroom}} dryrun --card {CARD} --json {{result}} -- "
        f"{{python}} {HERE}/eager_step.py --device cuda {{cell}} {STEPS}",
        missing_codes=(2, 5),
    ),
)
