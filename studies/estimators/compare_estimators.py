#!/usr/bin/env python3
"""A step's peak GPU memory by several tools, without a GPU, beside the published measurement.

Every tool answers every cell in a process of its own, one at a time, with a time limit; a process
that fails, hangs or is not installed costs its own row. Writes DIR/<date>.jsonl, one line per row
as it ends, and the tables made from it, .md. Run it by studies/estimators/compare_estimators.sh.
Exit codes: 0 no row failed; 2 usage; 3 some rows failed; 4 all failed; 5 the results cannot be
written; 130 interrupted, what had ended is in the .jsonl.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import peer_modules  # noqa: F401
from ask import Programs, ask
from command_line import OneLineParser
from peer_modules import ROOT
from report_file import append, compare_into, print_again, say
from row_table import gib, percent, table
from rows import CELLS, Cell, Row
from tools import ALL_TOOLS, Tool

TOOLS = {tool.name: tool for tool in ALL_TOOLS}


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def make_parser(
    title: str, cells: Iterable[str], tools: Iterable[str], packages: str
) -> OneLineParser:
    """packages: what the estimators' own environment has."""
    parser = OneLineParser(title)
    add = parser.add_argument
    add("--cells", default=",".join(cells), metavar="NAME,...", help="default: all")
    add("--tools", default=",".join(tools), metavar="NAME,...", help="default: all")
    add("--list", action="store_true", help="run nothing: print what would run")
    add("--output", type=Path, default=ROOT / "results/estimators", metavar="DIR")
    add("--deadline", type=seconds, default=600, help="seconds per process")
    add("--headroom", default=str(ROOT / "build/release/bin/headroom"), metavar="PROGRAM")
    add(
        "--venv-python",
        default=str(ROOT / "build/estimators-venv/bin/python"),
        metavar="PROGRAM",
        help=f"Python with {packages}",
    )
    add("--report", type=Path, metavar="JSONL", help="run nothing: print the tables of this file")
    return parser


def chosen(parser: OneLineParser, flag: str, text: str, known: Iterable[str]) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in known:
            parser.error(f"{flag}: {name!r} is unknown; allowed: {', '.join(known)}")
    return names


def compare(
    tools: list[Tool], cells: list[Cell], programs: Programs, limit_s: float, out: Path
) -> list[Row]:
    rows: list[Row] = []
    for tool in tools:
        for cell in cells:
            row = ask(tool, cell, programs, limit_s)
            append(out, row)
            rows.append(row)
            figure = f"{gib(row.peak_bytes)} GiB, {percent(row.error)}"
            shown = figure if row.status == "ok" else f"{row.status}: {row.reason}"
            say(f"[{len(rows)}/{len(tools) * len(cells)}] {tool.name} {cell}: {shown}")
    return rows


def exit_code(rows: list[Row]) -> int:
    failures = sum(row.failed for row in rows)
    if not failures:
        return 0
    return 4 if failures == len(rows) else 3


def main() -> int:
    parser = make_parser(__doc__.splitlines()[0], CELLS, TOOLS, "deepspeed and accelerate")
    options = parser.parse_args()
    tools = [TOOLS[name] for name in chosen(parser, "--tools", options.tools, TOOLS)]
    cells = [CELLS[name] for name in chosen(parser, "--cells", options.cells, CELLS)]
    if options.list:
        print("\n".join(f"{tool.name} {cell}" for tool in tools for cell in cells))
        return 0
    if options.report:
        return print_again(options.report, Row.from_json, table)
    programs = Programs(sys.executable, options.venv_python, options.headroom)

    def run(out: Path) -> list[Row]:
        return compare(tools, cells, programs, options.deadline, out)

    return compare_into(options.output, "", run, table, exit_code)


if __name__ == "__main__":
    sys.exit(main())
