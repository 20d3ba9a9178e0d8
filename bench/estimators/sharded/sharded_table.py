"""The rows of a comparison of sharded training as Markdown. No torch here."""

from __future__ import annotations

import estimator_modules  # noqa: F401
from row_table import gib, markdown, notes, percent, plain, setting, tools_table
from sharded_rows import ALL_CELLS, TRUTH, Row

INTRODUCTION = (
    "Peak GPU memory of rank 0 in sharded training, BF16 with FP32 states, batch 1, context 2,048 (1.3B), "
    "4,096 (8B) or 8,192 (70B): what each tool says, beside what the program itself takes of libtorch's "
    f"allocator on the virtual card ({TRUTH}, an H100). GiB is 1024-based. Error: tool / program - 1. "
    "Seconds and host memory are of the tool's whole process, its imports included."
)


def row_line(row: Row) -> list[str]:
    return [
        str(row.cell),
        row.tool,
        gib(row.peak_bytes),
        percent(row.error),
        "-" if row.seconds is None else f"{row.seconds:.1f}",
        gib(row.host_peak_rss_bytes, 2),
        plain(row.status + (f": {row.reason}" if row.reason else "")),
    ]


def rows_table(rows: list[Row]) -> str:
    header = ["cell", "tool", "GiB", "error", "seconds", "host peak RSS, GiB", "status"]
    order = {cell: place for place, cell in enumerate(ALL_CELLS)}
    ordered = sorted(rows, key=lambda row: order.get(row.cell, len(order)))
    return markdown(header, map(row_line, ordered))


def not_covered(rows: list[Row]) -> str:
    found = dict.fromkeys((row.tool, row.reason) for row in rows if row.status == "not covered")
    return "\n".join(f"- {tool}, where it has no row: {reason}" for tool, reason in found)


def table(rows: list[Row]) -> str:
    asked = [row for row in rows if row.status != "not covered"]
    lists = "\n".join(filter(None, (notes(asked), not_covered(rows))))
    parts = [INTRODUCTION, setting(rows), tools_table(asked), rows_table(asked), lists]
    return "\n\n".join(part for part in parts if part)
