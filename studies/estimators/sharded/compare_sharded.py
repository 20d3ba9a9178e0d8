#!/usr/bin/env python3
"""Peak GPU memory of sharded training by several tools, beside the program on the virtual card.

Every tool answers every cell in a process of its own, one at a time, with a time limit; a process
that fails, hangs or is not installed costs its own row. Writes DIR/sharded_<date>.jsonl, one line
per row as it ends, and the tables made from it, .md. studies/estimators/compare_sharded_estimators.sh runs it.
Exit codes: 0 no row failed; 2 usage; 3 some rows failed; 4 all failed; 5 the results cannot be
written; 130 interrupted, what had ended is in the .jsonl.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import estimator_modules  # noqa: F401
from ask import Programs, ask
from compare_estimators import chosen, exit_code, make_parser
from report_file import append, compare_into, print_again, say
from row_table import gib, percent
from sharded_rows import CELLS, TRUTHS, Cell, Row
from sharded_table import table
from sharded_tools import ALL_TOOLS
from tools import Tool

TOOLS = {tool.name: tool for tool in ALL_TOOLS}


def compare(
    tools: list[Tool], cells: list[Cell], programs: Programs, limit_s: float, out: Path
) -> list[Row]:
    """Cell by cell, the program itself first: every other row holds what it took."""
    rows: list[Row] = []
    ordered = sorted(tools, key=lambda tool: tool.name not in TRUTHS)
    for cell in cells:
        truth_bytes = None
        for tool in ordered:
            row = ask(tool, cell, programs, limit_s, Row)
            if tool.name in TRUTHS and row.peak_bytes is not None:
                truth_bytes = row.peak_bytes
            row = replace(row, truth_bytes=truth_bytes)
            append(out, row)
            rows.append(row)
            shown = f"{gib(row.peak_bytes)} GiB, {percent(row.error)}"
            shown = shown if row.status == "ok" else f"{row.status}: {row.reason}"
            say(f"[{len(rows)}/{len(tools) * len(cells)}] {tool.name} {cell}: {shown}")
    return rows


def main() -> int:
    parser = make_parser(__doc__.splitlines()[0], CELLS, TOOLS, "torch and deepspeed")
    options = parser.parse_args()
    tools = [TOOLS[name] for name in chosen(parser, "--tools", options.tools, TOOLS)]
    cells = [CELLS[name] for name in chosen(parser, "--cells", options.cells, CELLS)]
    if options.list:
        print("\n".join(f"{tool.name} {cell}" for cell in cells for tool in tools))
        return 0
    if options.report:
        return print_again(options.report, Row.from_json, table)
    programs = Programs(sys.executable, options.venv_python, options.headroom)

    def run(out: Path) -> list[Row]:
        return compare(tools, cells, programs, options.deadline, out)

    return compare_into(options.output, "sharded_", run, table, exit_code)


if __name__ == "__main__":
    sys.exit(main())
