"""The rows of a comparison of sharded training as Markdown. No torch here."""

from __future__ import annotations

from collections import Counter

import estimator_modules  # noqa: F401
from row_table import gib, markdown, notes, percent, plain, setting, tools_table
from sharded_rows import ALL_CELLS, OWN_STATES, OWN_TRUTH, TRUTH, Row

INTRODUCTION = (
    "Peak GPU memory of rank 0 in sharded training, BF16 with FP32 states, batch 1, context 2,048 "
    "(1.3B, 7B), 4,096 (8B) or 8,192 (70B); Megatron-LM's test cases with flags of their own: "
    "the estimate of each tool, beside the memory that the program takes from libtorch's "
    f"allocator on the virtual card ({TRUTH}, an H100). GiB is 1024-based. Error: tool / program "
    "- 1. Seconds and "
    "host memory are of the tool's whole process, imports included. own-zero cells are our own "
    f"step on a mesh of replicas, BF16 with FP32 states too ({OWN_TRUTH}, the fullest rank)."
)
STATES_INTRODUCTION = (
    "Model states by DeepSpeed's estimators, beside those of our own step's fullest rank: "
    "parameters, master copy, gradients, the optimizer's states, each at its own fullest moment, "
    "which may be another than the peak's. The peak also has activations, gathered weights and "
    "workspaces."
)


def row_line(row: Row) -> list[str]:
    return [
        str(row.cell),
        row.tool,
        gib(row.peak_bytes),
        percent(row.error),
        "-" if row.seconds is None else f"{row.seconds:.1f}",
        gib(row.host_peak_rss_bytes, 2),
    ]


def rows_table(rows: list[Row]) -> str:
    header = ["cell", "tool", "GiB", "error", "seconds", "host peak RSS, GiB"]
    order = {cell: place for place, cell in enumerate(ALL_CELLS)}
    ordered = sorted(rows, key=lambda row: order.get(row.cell, len(order)))
    return markdown(header, map(row_line, ordered))


def states_table(rows: list[Row]) -> str:
    """Of our own step: states as estimated and as they are. "" where no cell has both."""
    figures = {(row.cell, row.tool): row.peak_bytes for row in rows}
    lines = []
    for cell in ALL_CELLS:
        said, states, peak = (
            figures.get((cell, tool)) for tool in ("deepspeed-all-live", OWN_STATES, OWN_TRUTH)
        )
        if said is None or states is None:
            continue
        lines.append([str(cell), gib(said), gib(states), percent(said / states - 1), gib(peak)])
    if not lines:
        return ""
    header = ["cell", "estimated, GiB", "states, GiB", "error", "peak, GiB"]
    return f"{STATES_INTRODUCTION}\n\n{markdown(header, lines)}"


def no_answers(rows: list[Row]) -> str:
    """Why there is no figure, once per tool and wording, with the number of cells."""
    counts = Counter((row.tool, row.status, row.reason) for row in rows if row.status != "ok")
    return "\n".join(
        f"- {tool}, {count} cell{'s' * (count > 1)} {status}: {plain(reason)}"
        for (tool, status, reason), count in counts.items()
    )


def table(rows: list[Row]) -> str:
    asked = [row for row in rows if row.status != "not covered"]
    good = [row for row in rows if row.status == "ok"]
    lists = "\n".join(filter(None, (notes(good), no_answers(rows))))
    tables = [tools_table(asked), rows_table(good), states_table(good)]
    parts = [INTRODUCTION, setting(rows), *tables, lists]
    return "\n\n".join(part for part in parts if part)
