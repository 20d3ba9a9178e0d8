"""Results of a comparison of sharded training: one row per tool and cell. No torch here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

TRUTH = "headroom-dryrun"
OWN_TRUTH = "headroom-profile"  # of our own step
OWN_STATES = "headroom-profile-states"
TRUTHS = (TRUTH, OWN_TRUTH)


@dataclass(frozen=True)
class Cell:
    mode: str  # how training is sharded: fsdp2, zero2, zero3, own-zero2, own-zero3, megatron
    size: str  # a name of shapes.SHAPES, or a case of Megatron-LM
    ranks: int
    checkpointed: bool = False

    def __str__(self) -> str:
        return f"{self.mode}_{self.size}_{self.ranks}ranks" + "_checkpointed" * self.checkpointed

    def flags(self) -> list[str]:
        return [
            *("--mode", self.mode, "--size", self.size),
            *(["--checkpointed"] if self.checkpointed else []),
        ]

    def values(self) -> dict[str, str]:
        """The value of {ranks} in a tool's command."""
        return {"ranks": str(self.ranks)}


# Megatron-LM's test cases: ZeRO-1, tensor parallel, tensor and pipeline parallel.
MEGATRON_CASES = (
    "gpt3_mcore_tp1_pp1_dist_optimizer_overlap_grad_reduce_param_gather",
    "gpt3_mcore_tp4_pp1",
    "gpt3_mcore_tp2_pp2_uninstall_te",
)
ALL_CELLS = (
    *(Cell("fsdp2", "1.3B", ranks, recomputed) for ranks in (4, 8) for recomputed in (False, True)),
    *(Cell("fsdp2", "8B", 8, recomputed) for recomputed in (False, True)),
    Cell("fsdp2", "70B", 128, True),
    *(Cell(mode, "1.3B", ranks) for mode in ("zero2", "zero3") for ranks in (2, 4, 8)),
    *(Cell(mode, "1.3B", 8, True) for mode in ("zero2", "zero3")),
    Cell("zero3", "8B", 8, True),
    *(Cell(f"own-zero{stage}", size, 8) for size in ("1.3B", "7B") for stage in (2, 3)),
    *(Cell(f"own-zero{stage}", "7B", 8, True) for stage in (2, 3)),
    *(Cell("megatron", case, 8) for case in MEGATRON_CASES),
)
CELLS = {str(cell): cell for cell in ALL_CELLS}


@dataclass(frozen=True)
class Row:
    """`status` as of rows.Row. `truth_bytes`: what the program itself took on the virtual card."""

    tool: str
    cell: Cell
    status: str
    reason: str = ""
    peak_bytes: int | None = None
    truth_bytes: int | None = None
    note: str = ""
    seconds: float | None = None
    host_peak_rss_bytes: int | None = None
    command: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, str | int] = field(default_factory=dict)
    time_utc: str = ""

    @property
    def failed(self) -> bool:
        return self.status not in ("ok", "not covered")

    @property
    def error(self) -> float | None:
        """Against the program itself; above zero is an overestimate. The truth has none."""
        if self.peak_bytes is None or not self.truth_bytes or self.tool in TRUTHS:
            return None
        return self.peak_bytes / self.truth_bytes - 1

    def to_json(self) -> str:
        return json.dumps({"schema_version": 1, **asdict(self)}, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Row:
        value = json.loads(text)
        known = {name: value[name] for name in Row.__dataclass_fields__}
        return Row(cell=Cell(**known.pop("cell")), **known)
