"""Results of a comparison: its lines, the check of their losses, and the table made of them."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from statistics import median

OURS = "headroom"
AGAIN = "headroom_again"
SAME_OPERATIONS = (OURS, AGAIN, "eager_reference")
# Largest relative difference of a loss from headroom's. Arms with other kernels sum in another
# order, and Adam turns the rounding of a gradient near zero into a whole step of that weight.
TOLERANCE = {"fp32": 1e-5, "tf32": 1e-2, "bf16": 1e-2}
TOLERANCE_OTHER_OPERATIONS = {"fp32": 1e-4, "tf32": 1e-2, "bf16": 1e-2}


@dataclass(frozen=True)
class Cell:
    model_size: str
    context_length: int
    precision: str

    def __str__(self) -> str:
        return f"{self.model_size}_ctx{self.context_length}_{self.precision}"


@dataclass(frozen=True)
class Line:
    """One process of one round. `result` is what it printed, a Record or a peer's line."""

    cell: Cell
    round: int
    arm: str
    reason: str
    result: dict

    @property
    def median_ms(self) -> float:
        return median(self.result["step_ms"])

    def to_json(self) -> str:
        return json.dumps({"schema_version": 1, **asdict(self)}, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Line:
        value = json.loads(text)
        names = ("round", "arm", "reason", "result")
        return Line(Cell(**value["cell"]), **{name: value[name] for name in names})


def tolerance(line: Line) -> float:
    table_of = TOLERANCE if line.arm in SAME_OPERATIONS else TOLERANCE_OTHER_OPERATIONS
    return table_of[line.cell.precision]


def loss_error(losses: list[float], expected: list[float]) -> float:
    """Largest relative difference; infinite when there is nothing to compare."""
    if not expected or len(losses) != len(expected) or None in losses or None in expected:
        return math.inf
    return max(abs(a - b) / max(abs(b), 1e-30) for a, b in zip(losses, expected, strict=True))


def reference_losses(lines: list[Line], cell: Cell) -> list[float]:
    found = [x for x in lines if x.cell == cell and x.arm == OURS and not x.reason]
    return found[0].result["losses"] if found else []


def loss_problems(lines: list[Line]) -> list[str]:
    """One sentence for each process whose losses are not headroom's; empty when all agree."""
    problems = []
    for line in (line for line in lines if not line.reason):
        losses, expected = line.result["losses"], reference_losses(lines, line.cell)
        error, allowed = loss_error(losses, expected), tolerance(line)
        if error > allowed:
            problems.append(
                f"{line.cell} {line.arm}, round {line.round}: losses {losses}, headroom's "
                f"{expected}: relative difference {error:.1e}, allowed {allowed:.0e}"
            )
    return problems


def ratios(ours: list[Line], arm: list[Line]) -> list[float]:
    """headroom's time over the arm's, round by round."""
    arm_ms = {line.round: line.median_ms for line in arm}
    return [line.median_ms / arm_ms[line.round] for line in ours if line.round in arm_ms]


def spread(values: list[float], digits: int) -> str:
    if not values:
        return "-"
    low, high = min(values), max(values)
    return f"{median(values):.{digits}f} ({low:.{digits}f} .. {high:.{digits}f})"


def peak_text(lines: list[Line]) -> str:
    peaks = [line.result.get("peak_allocated_bytes") for line in lines]
    return f"{max(peaks) / 2**30:.3f}" if all(peaks) else "-"


def first_step_text(lines: list[Line]) -> str:
    first = [line.result.get("time_to_first_step_ms") for line in lines]
    return f"{max(first) / 1e3:.1f}" if all(first) else "-"


def arm_row(ours: list[Line], arm: list[Line], expected: list[float]) -> list[str]:
    good = [line for line in arm if not line.reason]
    if not good:
        return [arm[0].arm, arm[0].reason.replace("|", "/"), "", "", "", ""]
    worst = max(loss_error(line.result["losses"], expected) for line in good)
    return [
        arm[0].arm,
        spread([line.median_ms for line in good], 1),
        "1" if arm[0].arm == OURS else spread(ratios(ours, good), 3),
        f"{worst:.1e}",
        first_step_text(good),
        peak_text(good),
    ]


def setting_text(lines: list[Line]) -> str:
    """The run's settings, from the first peer's own line."""
    peer = next((x.result for x in lines if "versions" in x.result), None)
    if peer is None:
        return ""
    spec, found = peer["spec"], peer["versions"]
    shape = f"d_model {spec['d_model']}, d_ff {spec['d_ff']}, layers {spec['layers']}"
    return (
        f"{shape}, heads {spec['heads']}, vocabulary {spec['vocab_size']}; "
        f"batch {spec['batch_size']}, {spec['profile_type']}, {spec['warmup_steps']} warm-up and "
        f"{spec['measure_steps']} timed steps per process, {found['threads']} threads; "
        f"{found.get('card', found['processor'])}, torch {found['torch']}, "
        f"Python {found['python']}."
    )


def form_text(record: dict) -> str:
    """headroom's own form, where it is not that of its defaults."""
    defaults = {"attention": "eager", "kernels": "eager", "optimizer_impl": "reference"}
    spec = record.get("spec", {})
    flags = [
        f"--{name.replace('_', '-')} {spec[name]}"
        for name, default in defaults.items()
        if spec.get(name, default) != default
    ]
    return f" headroom runs with `{' '.join(flags)}`." if flags else ""


HEADER = [
    "program",
    "ms per step",
    "headroom / program",
    "loss difference",
    "first step, s",
    "peak, GiB",
]


def why_not(lines: list[Line]) -> str:
    """Why the times of this cell may not be compared; empty when they may."""
    if not reference_losses(lines, lines[0].cell):
        reasons = [line.reason for line in lines if line.arm == OURS]
        return f"headroom gave no losses ({'; '.join(reasons) or 'it did not run'})."
    problems = loss_problems(lines)
    return (
        "The losses differ, so no times are compared:\n" + "\n".join(problems) if problems else ""
    )


def cell_table(lines: list[Line]) -> str:
    cell = lines[0].cell
    title = f"## {cell.model_size}, context {cell.context_length}, {cell.precision}"
    problem = why_not(lines)
    if problem:
        return f"{title}\n\n{problem}"
    by_arm: dict[str, list[Line]] = {}
    for line in sorted(lines, key=lambda line: line.round):
        by_arm.setdefault(line.arm, []).append(line)
    ours = [line for line in by_arm[OURS] if not line.reason]
    again = [line for line in by_arm.get(AGAIN, []) if not line.reason]
    expected = reference_losses(lines, cell)
    rows = [HEADER, ["---"] * len(HEADER)]
    rows += [arm_row(ours, arm, expected) for arm in by_arm.values()]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    rounds = max(line.round for line in lines)
    return (
        f"{title}\n\n{setting_text(lines)}{form_text(ours[0].result)}\n\n{text}\n\n"
        f"Median (lowest .. highest) of {rounds} rounds; a ratio is taken within its round, and "
        f"below 1 headroom is the faster. A/A: headroom against itself, "
        f"{spread(ratios(ours, again), 3)}."
    )


def table(lines: list[Line]) -> str:
    """Markdown, one table per cell; a cell whose losses differ gets the reason instead."""
    cells = dict.fromkeys(line.cell for line in lines)
    return "\n\n".join(cell_table([x for x in lines if x.cell == cell]) for cell in cells)
