"""Results of a comparison: one row per tool and cell. No torch here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from peer_modules import ROOT

MODEL_SIZE, BATCH_SIZE = "2.7B", 4


@dataclass(frozen=True)
class Cell:
    context_length: int
    mode: str
    precision: str

    def __str__(self) -> str:
        return f"ctx{self.context_length}_{self.mode}_{self.precision}"

    def flags(self) -> list[str]:
        """As studies/peers and `headroom profile` both take them."""
        return [
            *("--model-size", MODEL_SIZE, "--batch-size", str(BATCH_SIZE)),
            *("--context-length", str(self.context_length), "--profile-type", self.mode),
            *("--precision", self.precision),
        ]

    def values(self) -> dict[str, str]:
        """Further values for a tool's command."""
        return {}


PUBLISHED_FILE = ROOT / "results/published/a800_cs336.json"


def published_gib() -> dict[Cell, float]:
    """Peak GiB of this shape and batch on a real card, by cell; the file names its source."""
    cells = json.loads(PUBLISHED_FILE.read_text(encoding="utf-8"))["cells"]
    return {
        Cell(cell["context_length"], cell["profile_type"], cell["precision"]): cell["peak_gib"]
        for cell in cells
    }


PUBLISHED_GIB = published_gib()
CELLS = {str(cell): cell for cell in PUBLISHED_GIB}


@dataclass(frozen=True)
class Row:
    """`status`: ok, not covered (the tool has no figure for such a cell), missing (not installed,
    or the program has no such command), failed, killed, timeout."""

    tool: str
    cell: Cell
    status: str
    reason: str = ""
    peak_bytes: int | None = None
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
        """Against the published measurement; above zero is an overestimate."""
        if self.peak_bytes is None:
            return None
        return self.peak_bytes / 2**30 / PUBLISHED_GIB[self.cell] - 1

    def to_json(self) -> str:
        published = {"published_gib": PUBLISHED_GIB[self.cell]}
        return json.dumps({"schema_version": 1, **asdict(self), **published}, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Row:
        value = json.loads(text)
        known = {name: value[name] for name in Row.__dataclass_fields__}
        cell = Cell(**known.pop("cell"))
        if cell not in PUBLISHED_GIB:
            raise ValueError(f"no published measurement of {cell}")
        return Row(cell=cell, **known)
