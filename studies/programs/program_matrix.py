#!/usr/bin/env python3
"""Runs distributed programs under `headroom dryrun` and writes the table of what became of each.

usage: program_matrix.py --headroom PROGRAM --output-dir DIR [--rows NAME,...] [--most-together N]
--rows: those alone, beside the rows that the file holds already. --most-together: rows of more ranks
that run beside each other are left as they are.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from matrix_rows import ROWS, Row

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "virtual_gpu" / "programs" / "distributed"
DEADLINE_SECONDS = 120
CARD = "h100-80gb"
GIB = 1 << 30
STATEMENTS = ("virtual GPU: ", "headroom dryrun: ")


def version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def command_of(row: Row, headroom: str, report: Path) -> list[str]:
    ranks = ["--gpus", str(row.ranks)]
    launcher = row.launcher.format(ranks=row.ranks).split()
    if row.alone:
        ranks, launcher = ["--world-size", str(row.ranks), "--rank", row.alone], []
    program, *arguments = shlex.split(row.program.format(programs=PROGRAMS))
    started = program if program == "-m" else str(PROGRAMS / program)
    return [headroom, "dryrun", "--card", CARD, *ranks, *row.flags, "--json", str(report), "--",
            sys.executable, *launcher, started, *arguments]  # fmt: skip


def run(command: list[str], row: Row, folder: Path) -> tuple[int, float, int]:
    """Exit code, seconds and the largest process's resident bytes; what it said lies in the folder."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **row.environment}
    began = time.monotonic()
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        process = subprocess.Popen(
            command, stdout=out, stderr=err, cwd=folder, env=environment, start_new_session=True
        )
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGINT))
        signal.alarm(DEADLINE_SECONDS)
        # The process and its children that have ended.
        _, status, usage = os.wait4(process.pid, 0)
        signal.alarm(0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    return process.returncode, seconds, usage.ru_maxrss * 1024


def last_words(text: str) -> str:
    """The stand-in's refusal, else the error that ended the program."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [
        line
        for line in lines
        if line.startswith(STATEMENTS[0]) and "not supported" in line
        or line.startswith(STATEMENTS[1] + "rank ")
    ]
    errors = [one for one in lines if "Error: " in one and "ChildFailedError" not in one]
    return next(iter(said + errors[-1:] + lines[-1:]), "no message")


def verdict_of(code: int, report: dict, text: str) -> str:
    if code != 0:
        words = last_words(text)
        for prefix in STATEMENTS:
            words = words.removeprefix(prefix)
        words = re.sub(r"^\[rank\d+\]: ", "", words)
        return words if len(words) <= 240 else words[:237] + "..."
    steer = {
        re.sub(r"[^ ]*/", "", line["where"].split(",")[0])
        for process in report["processes"]
        for line in process["host_reads"]["lines"]
        if line.get("effect") == "steers"
    }
    return "works" + (f"; decides by zeros at {', '.join(sorted(steer))}" if steer else "")


def measured(row: Row, headroom: str) -> dict:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        report = folder / "report.json"
        command = command_of(row, headroom, report)
        code, seconds, resident = run(command, row, folder)
        text = (folder / "err").read_text(errors="replace")
        document = json.loads(report.read_text()) if report.exists() else {"processes": []}
    peaks = [
        device["allocator"]["peak_allocated_bytes"]
        for process in document["processes"]
        for device in process["devices"]
        if device.get("allocator")
    ]
    return {
        "row": row.name,
        "what": row.what,
        "card": CARD,
        "versions": {name: version_of(name) for name in ("torch", *row.needs)},
        "ranks": row.ranks,
        "alone": row.alone,
        "launcher": "python" if row.alone else row.shown,
        "exit_code": code,
        "verdict": verdict_of(code, document, text)
        if seconds < DEADLINE_SECONDS
        else f"did not end within {DEADLINE_SECONDS} s",
        "peak_allocated_bytes": max(peaks, default=None),
        "seconds": round(seconds, 1),
        "largest_process_bytes": resident,
    }


def cells(record: dict) -> list[str]:
    peak = record["peak_allocated_bytes"]
    ranks = f"{record['ranks']:,}"
    if record["alone"]:
        ranks = f"{record['alone'].replace(',', ', ')} of {ranks}"
    versions = [f"{name} {version.split('+')[0]}" for name, version in record["versions"].items()]
    return [
        record["what"],
        ", ".join(versions[1:] or versions),
        ranks,
        record["launcher"],
        record["verdict"],
        "-" if peak is None else f"{peak / GIB:.3f}",
        f"{record['seconds']:.0f}",
        f"{record['largest_process_bytes'] / GIB:.2f}",
    ]


def table(records: list[dict]) -> str:
    head = ["program", "library", "ranks", "started by", "verdict", "peak, GiB", "s", "host, GiB"]
    rule = ["---", "---", "---", "---", "---", "---:", "---:", "---:"]
    lines = [head, rule, *(cells(record) for record in records)]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    torch = records[0]["versions"]["torch"].split("+")[0]
    return (
        f"{text}\n\ntorch {torch}, {CARD}. Peak: allocated by libtorch, of the rank with the most. "
        "Host: resident, of the largest process.\n"
    )


def write(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(text)
    os.replace(beside, path)


def read_records(path: Path) -> dict[str, dict]:
    if not path.exists():
        return {}
    return {record["row"]: record for record in map(json.loads, path.read_text().splitlines())}


def rows_of(wanted: str | None) -> list[Row]:
    if wanted is None:
        return list(ROWS)
    known = {row.name: row for row in ROWS}
    for name in wanted.split(","):
        if name not in known:
            print(f"--rows: '{name}' is none of {', '.join(known)}", file=sys.stderr)
            raise SystemExit(2)
    return [known[name] for name in wanted.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headroom", required=True)
    parser.add_argument("--output-dir", type=Path, required=True)
    parser.add_argument("--rows")
    parser.add_argument("--most-together", type=int, default=16)
    options = parser.parse_args()
    path = options.output_dir / "programs.jsonl"
    records = read_records(path)
    failed = False
    for row in rows_of(options.rows):
        missing = [name for name in row.needs if version_of(name) is None]
        if missing:
            print(f"{row.name}: not run, {', '.join(missing)} not installed", file=sys.stderr)
            continue
        if not row.alone and row.ranks > options.most_together:
            print(f"{row.name}: not run, {row.ranks} ranks together", file=sys.stderr)
            continue
        record = measured(row, options.headroom)
        print(" | ".join(cells(record)), file=sys.stderr)
        failed = failed or record["exit_code"] != 0
        records[row.name] = record
        kept = [records[one.name] for one in ROWS if one.name in records]
        write(path, "".join(json.dumps(one) + "\n" for one in kept))
        write(options.output_dir / "programs.md", table(kept))
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
