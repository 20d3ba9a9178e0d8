"""Asks one tool about one cell: a process of its own, and whatever becomes of it, one row."""

from __future__ import annotations

import datetime
import os
import platform
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from answers import NoAnswerError, said
from measured_process import Outcome, run_measured
from peer_modules import ROOT
from rows import Row
from tools import Tool

R = TypeVar("R")  # rows.Row, or one of the same fields
C = TypeVar("C")
SHOWN = {"python": "python", "venv": "python", "headroom": "headroom", "result": "FILE"}


@dataclass(frozen=True)
class Programs:
    """Values for the placeholders of a tool's command."""

    python: str
    venv: str
    headroom: str

    def values(self, result: Path) -> dict[str, str]:
        return {**vars(self), "result": str(result)}


def processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def machine() -> dict[str, str | int]:
    return {"processor": processor_name(), "cores": os.cpu_count() or 0}


def without_paths(text: str, programs: Programs, scratch: Path) -> str:
    for path, name in (
        (str(scratch), "scratch"),
        (programs.headroom, "headroom"),
        (programs.venv, "python"),
        (programs.python, "python"),
        (f"{ROOT}/", ""),
        (f"{sys.prefix}/", ""),
        (f"{Path.home()}/", ""),
    ):
        text = text.replace(path, name)
    return " ".join(text.split())[:300]


def start(words: list[str], limit_s: float) -> Outcome:
    try:
        return run_measured(words, limit_s, ROOT, os.environ)
    except OSError as error:
        raise NoAnswerError("missing", f"cannot run {words[0]}: {error.strerror}") from None


def asked(tool: Tool, row: R, programs: Programs, limit_s: float, scratch: Path) -> R:
    result = scratch / "result.json"
    values = programs.values(result) | row.cell.values()
    try:
        outcome = start(tool.words(values, row.cell.flags()), limit_s)
        row = replace(row, seconds=outcome.seconds, host_peak_rss_bytes=outcome.peak_rss_bytes)
        answer = said(tool, outcome, result)
    except NoAnswerError as problem:
        reason = without_paths(problem.reason, programs, scratch)
        return replace(row, status=problem.status, reason=reason)
    note = without_paths(str(answer.get("note", "")), programs, scratch)
    return replace(
        row,
        status="ok",
        peak_bytes=answer["peak_bytes"],
        note=note,
        versions=answer["versions"],
    )


def ask(tool: Tool, cell: C, programs: Programs, limit_s: float, row_type: type[R] = Row) -> R:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    command = " ".join(tool.words(SHOWN | cell.values(), cell.flags()))
    row = row_type(tool.name, cell, "failed", command=command, machine=machine(), time_utc=now)
    if cell.mode not in tool.modes:
        return replace(row, status="not covered", reason=tool.why_not)
    with tempfile.TemporaryDirectory(prefix="headroom-estimators-") as folder:
        return asked(tool, row, programs, limit_s, Path(folder))
