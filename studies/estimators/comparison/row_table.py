"""The rows of a comparison as Markdown. No torch here."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from rows import BATCH_SIZE, MODEL_SIZE, PUBLISHED_GIB, Row

INTRODUCTION = (
    f"Peak GPU memory of one step, {MODEL_SIZE} shape, batch {BATCH_SIZE}: the estimate of each "
    "tool without a GPU, beside the published measurement on an NVIDIA A800 80GB. GiB is "
    "1024-based. "
    "Error: tool / published - 1. Seconds and host memory are of the tool's whole process, its "
    "imports included."
)


def gib(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value / 2**30:.{digits}f}"


def percent(value: float | None) -> str:
    if value is None:
        return "-"
    text = f"{value * 100:+.2f}"
    return f"{text if float(text) else '0.00'} %"


def plain(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")


def markdown(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def by_tool(rows: list[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.tool, []).append(row)
    return groups


def tool_line(tool: str, rows: list[Row]) -> list[str]:
    good = [row for row in rows if row.status == "ok"]
    head = [tool, f"{len(good)} of {len(rows)}"]
    if not good:
        return [*head, "-", "-", "-", "-"]
    errors = [row.error for row in good if row.error is not None]
    seconds = [row.seconds for row in good if row.seconds is not None]
    return [
        *head,
        percent(min(errors, default=None)),
        percent(max(errors, default=None)),
        f"{median(seconds):.1f}",
        gib(max(row.host_peak_rss_bytes or 0 for row in good), 2),
    ]


def tools_table(rows: list[Row]) -> str:
    header = ["tool", "cells answered", "lowest error", "highest error"]
    header += ["seconds, median", "host peak RSS, GiB"]
    return markdown(header, (tool_line(tool, group) for tool, group in by_tool(rows).items()))


def row_line(row: Row) -> list[str]:
    return [
        row.tool,
        str(row.cell),
        gib(row.peak_bytes),
        f"{PUBLISHED_GIB[row.cell]:.3f}",
        percent(row.error),
        "-" if row.seconds is None else f"{row.seconds:.1f}",
        gib(row.host_peak_rss_bytes, 2),
        plain(row.status + (f": {row.reason}" if row.reason else "")),
    ]


def rows_table(rows: list[Row]) -> str:
    header = ["tool", "cell", "GiB", "published GiB", "error", "seconds", "host peak RSS, GiB"]
    order = {cell: place for place, cell in enumerate(PUBLISHED_GIB)}
    ordered = sorted(rows, key=lambda row: order[row.cell])
    return markdown([*header, "status"], map(row_line, ordered))


def notes(rows: list[Row]) -> str:
    """Remarks of each tool's process on its figure, once per tool and wording."""
    found = dict.fromkeys((row.tool, row.note) for row in rows if row.note)
    return "\n".join(f"- {tool}: {note}" for tool, note in found)


def listed(pairs: Iterable[tuple[str, object]]) -> str:
    """Each name once, with every value that was seen."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        seen = values.setdefault(name, [])
        if str(value) not in seen:
            seen.append(str(value))
    return ", ".join(f"{name} {' / '.join(seen)}" for name, seen in values.items())


def setting(rows: list[Row]) -> str:
    """Versions and machine of the session, on one line."""
    days = sorted({row.time_utc[:10] for row in rows if row.time_utc})
    parts = [
        listed(pair for row in rows for pair in row.machine.items()),
        listed(pair for row in rows for pair in row.versions.items()),
        " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "",
    ]
    return "; ".join(part for part in parts if part) + "."


def table(rows: list[Row]) -> str:
    parts = [INTRODUCTION, setting(rows), tools_table(rows), rows_table(rows), notes(rows)]
    return "\n\n".join(part for part in parts if part)
