"""The answer of a tool's process: its figure, or the reason for none. No torch here."""

from __future__ import annotations

import json
from pathlib import Path

from measured_process import Outcome
from tools import Tool


class NoAnswerError(Exception):
    """A row's status, and why there is no figure."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def last_words(outcome: Outcome) -> str:
    return last_line(outcome.stderr) or last_line(outcome.stdout) or "no message"


def answer_of(text: str) -> dict:
    """The JSON object that the text or its last line is; empty where there is none."""
    for candidate in (text, last_line(text)):
        try:
            answer = json.loads(candidate)
        except json.JSONDecodeError:
            continue
        if isinstance(answer, dict):
            return answer
    return {}


def allocators(answer: dict) -> list[dict]:
    """libtorch's statistics in the document of `headroom dryrun`: per process and device."""
    devices = (
        device for process in answer.get("processes", ()) for device in process.get("devices", ())
    )
    return [device["allocator"] for device in devices if device.get("allocator")]


def peak_of(answer: dict) -> int | None:
    """The figure: a tool's own, a Record's, or that of a dry run's one process on one card."""
    found = allocators(answer)
    holder = found[0] if len(found) == 1 else answer
    peak = holder.get("peak_bytes", holder.get("peak_allocated_bytes"))
    return peak if type(peak) is int and peak > 0 else None


def versions_of(answer: dict) -> dict[str, str]:
    """The tools' own, or what a Record says of its build, or a dry run of its program."""
    if isinstance(answer.get("versions"), dict):
        return {str(name): str(value) for name, value in answer["versions"].items()}
    if answer.get("processes"):
        return {"torch": str(answer["processes"][0].get("torch", "unknown"))}
    environment = answer.get("environment", {})
    names = {"build": "headroom", "libtorch": "libtorch"}
    return {ours: str(environment[key]) for key, ours in names.items() if key in environment}


def said(tool: Tool, outcome: Outcome, result: Path) -> dict:
    """The answer of the process; NoAnswerError when it gave no figure."""
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
    try:
        found = {"peak_bytes": peak_of(answer), "versions": versions_of(answer)}
    except (AttributeError, KeyError, TypeError):
        raise NoAnswerError("failed", "its answer is JSON of an unknown form") from None
    if found["peak_bytes"] is None:
        raise NoAnswerError("failed", f"no bytes in its answer: {last_words(outcome)}")
    return {**answer, **found}
