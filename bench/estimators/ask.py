"""Asks one tool about one cell: a process of its own, and whatever becomes of it, one row."""

from __future__ import annotations

import datetime
import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from measured_process import Outcome, run_measured
from peer_modules import ROOT
from rows import Cell, Row
from tools import Tool

SHOWN = {"python": "python", "venv": "python", "headroom": "headroom", "result": "FILE"}


class NoAnswerError(Exception):
    """A row's status, and why there is no figure."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class Programs:
    """What stands in the places of a tool's command."""

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


def last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def last_words(outcome: Outcome) -> str:
    return last_line(outcome.stderr) or last_line(outcome.stdout) or "no message"


def answer_of(text: str) -> dict:
    """The JSON object on the last line; empty where there is none."""
    try:
        answer = json.loads(last_line(text))
    except json.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}


def said(tool: Tool, outcome: Outcome, result: Path) -> dict:
    """What the process answered; NoAnswerError when it gave no figure."""
    if outcome.timed_out:
        raise NoAnswerError("timeout", f"killed after {outcome.seconds:.0f} s")
    if outcome.exit_code < 0:
        raise NoAnswerError("killed", f"by signal {-outcome.exit_code}: {last_words(outcome)}")
    text = outcome.stdout
    if result.is_file():
        text = result.read_text(encoding="utf-8", errors="replace")
    answer = answer_of(text)
    status = answer.get("status", "ok")
    if outcome.exit_code in tool.missing_codes:
        raise NoAnswerError("missing", str(answer.get("reason", "")) or last_words(outcome))
    if status != "ok":
        known = status if status in ("missing", "timeout", "killed") else "failed"
        raise NoAnswerError(known, str(answer.get("reason", "")) or status)
    if outcome.exit_code:
        raise NoAnswerError("failed", f"exit code {outcome.exit_code}: {last_words(outcome)}")
    peak = answer.get("peak_bytes", answer.get("peak_allocated_bytes"))
    if not isinstance(peak, int) or isinstance(peak, bool) or peak <= 0:
        raise NoAnswerError("failed", f"no bytes in its answer: {last_words(outcome)}")
    return {**answer, "peak_bytes": peak}


def versions_of(answer: Mapping) -> dict[str, str]:
    """The tools' own, or what a Record says of its build."""
    found = answer.get("versions")
    if isinstance(found, dict):
        return {str(name): str(value) for name, value in found.items()}
    environment = answer.get("environment")
    if not isinstance(environment, dict):
        return {}
    names = {"build": "headroom", "libtorch": "libtorch"}
    return {ours: str(environment[key]) for key, ours in names.items() if key in environment}


def start(words: list[str], limit_s: float) -> Outcome:
    try:
        # DeepSpeed looks for an accelerator when it is imported.
        return run_measured(words, limit_s, ROOT, os.environ | {"DS_ACCELERATOR": "cpu"})
    except OSError as error:
        raise NoAnswerError("missing", f"cannot run {words[0]}: {error.strerror}") from None


def asked(tool: Tool, row: Row, programs: Programs, limit_s: float, scratch: Path) -> Row:
    result = scratch / "result.json"
    try:
        outcome = start(tool.words(programs.values(result), row.cell.flags()), limit_s)
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
        versions=versions_of(answer),
    )


def ask(tool: Tool, cell: Cell, programs: Programs, limit_s: float) -> Row:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    command = " ".join(tool.words(SHOWN, cell.flags()))
    row = Row(tool.name, cell, "failed", command=command, machine=machine(), time_utc=now)
    if cell.mode not in tool.modes:
        return replace(row, status="not covered", reason=tool.why_not)
    with tempfile.TemporaryDirectory(prefix="headroom-estimators-") as folder:
        return asked(tool, row, programs, limit_s, Path(folder))
