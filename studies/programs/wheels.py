#!/usr/bin/env python3
"""What `headroom dryrun` does with the programs of a user's own PyTorch; called by check_wheels.sh.

usage: wheels.py run HEADROOM PYTHON ROWS.jsonl [COLUMN]...   runs them (all) under PYTHON, writes its row
       wheels.py table ROWS.jsonl                             prints the table
Exit codes of run: 0, or 3 if a program neither ran nor was refused, or if the report has another peak
than the program's allocator.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[2] / "tests" / "virtual_gpu" / "programs"
CARD = "a100-80gb"
MEBI = 1 << 20
DEADLINE_SECONDS = 300
VERSIONS = """
import json, os, sys, torch
def of(library):
    try:
        return library()
    except Exception:
        return None
print(json.dumps({
    "torch": torch.__version__, "cuda": torch.version.cuda, "python": sys.version.split()[0],
    "cudnn": of(torch.backends.cudnn.version),
    "nccl": of(lambda: ".".join(str(part) for part in torch.cuda.nccl.version())),
}))
"""
ROUTER = (PROGRAMS / "steered.py").read_text().splitlines()
ROUTER_LINE = next(i for i, line in enumerate(ROUTER, 1) if line.endswith("# router reads"))
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
# column: (flags, program, whether its last line is the allocator's peak). {folder}: a scratch one.
RUNS = {
    "AdamW, snapshot": (["--snapshot", "{folder}/s.pickle"], ["train_linear.py"], False),
    "decoder, BF16": ([], ["train_decoder.py"], True),
    "same, expandable": (["--alloc-conf", "expandable_segments:True"], ["train_decoder.py"], True),
    "FP16, checkpoints": ([], ["train_transformer.py"], False),
    "CUDA graphs": ([], ["cuda/graphs.py"], False),
    "cuDNN, cuSOLVER": ([], ["cuda/convolve.py"], True),
    "given values": (["--value", f"steered.py:{ROUTER_LINE}=8"], ["steered.py", "router"], False),
    "breakdown": (["--breakdown"], ["broken_down.py", "accumulated"], False),
    "DDP, 2 ranks": (["--count", "2"], ["ranks/ranks.py", "ddp"], False),
}


def peak_of(report: Path) -> int | None:
    if not report.exists():
        return None
    devices = [d for p in json.loads(report.read_text())["processes"] for d in p["devices"]]
    peaks = [d["allocator"]["peak_allocated_bytes"] for d in devices if d.get("allocator")]
    return max(peaks, default=None)


def reason_of(text: str) -> dict:
    """What the stand-in said is missing, which is a refusal; else the error that ended the program."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [x for x in lines if x.startswith("virtual GPU: cuDNN") or "returns \"not supported" in x]
    errors = [x for x in lines if "Error: " in x]
    reason = next(iter(said + errors[-1:] + lines[-1:]), "no message").removeprefix("virtual GPU: ")
    return {"reason": reason, "is_refused": bool(said)}


def measured(headroom: str, python: str, run: str) -> dict:
    flags, (program, *arguments), is_told = RUNS[run]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        launcher = TORCHRUN if "ranks" in run else []
        command = [
            headroom, "dryrun", "--card", CARD, *(word.format(folder=folder) for word in flags),
            "--json", str(folder / "report.json"), "--", python, *launcher,
            str(PROGRAMS / program), *arguments,
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=DEADLINE_SECONDS,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {"exit_code": None, "reason": f"no end in {DEADLINE_SECONDS} s"}
        row = {"exit_code": done.returncode, "peak_bytes": peak_of(folder / "report.json")}
        if "--snapshot" in flags:
            check = [headroom, "snapshot", "validate", str(folder / "s.pickle")]
            row["exit_code"] = row["exit_code"] or subprocess.run(check, check=False, capture_output=True).returncode
    lacks = ("no breakdown: ", "not with this torch: ")
    said = [line for line in done.stderr.splitlines() if line.startswith(lacks)]
    if said:
        row["lacks"] = said[-1].removeprefix(lacks[1])
    if row["exit_code"] != 0:
        row |= reason_of(done.stderr)
    elif is_told and int(done.stdout.split()[-1]) != row["peak_bytes"]:
        row |= {"exit_code": 3, "reason": f"the program's own peak is {done.stdout.split()[-1]}"}
    return row


def run(headroom: str, python: str, rows: Path, columns: list[str]) -> int:
    asked = subprocess.run([python, "-c", VERSIONS], check=True, capture_output=True, text=True)
    row = {**json.loads(asked.stdout), "runs": {}}
    for other in read(rows):
        if other["torch"] == row["torch"]:
            row["runs"] = other["runs"]
    for name in columns or RUNS:
        row["runs"][name] = measured(headroom, python, name)
        print(f"{row['torch']}: {name}: {json.dumps(row['runs'][name])}", flush=True)
        save(row, rows)
    is_well = [one["exit_code"] in (0, 5) or one.get("is_refused") for one in row["runs"].values()]
    return 0 if all(is_well) else 3


def save(row: dict, rows: Path) -> None:
    others = [other for other in read(rows) if other["torch"] != row["torch"]]
    text = "".join(json.dumps(one) + "\n" for one in sorted([*others, row], key=release))
    rows.with_suffix(".tmp").write_text(text)
    rows.with_suffix(".tmp").replace(rows)


def read(rows: Path) -> list[dict]:
    return [json.loads(line) for line in rows.read_text().splitlines()] if rows.exists() else []


def release(row: dict) -> list[int]:
    return [int(part) for part in row["torch"].split("+")[0].split(".")]


def table(rows: list[dict]) -> str:
    notes: list[str] = []

    def note(text: str) -> str:
        if text not in notes:
            notes.append(text)
        return f" [{notes.index(text) + 1}]"

    def cell(one: dict | None) -> str:
        if one is None:
            return "-"
        if one["exit_code"] != 0:
            return "no" + note(one["reason"])
        return f"{one['peak_bytes'] / MEBI:.3f}" + (note(one["lacks"]) if "lacks" in one else "")

    head = ["torch", "CUDA", "cuDNN", "NCCL", *RUNS]
    lines = [head, ["---"] * 4 + ["---:"] * len(RUNS)]
    lines += [
        [row["torch"].split("+")[0], row["cuda"], str(row["cudnn"]), row["nccl"] or "-",
         *(cell(row["runs"].get(name)) for name in RUNS)]
        for row in rows
    ]  # fmt: skip
    text = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    pythons = ", ".join(sorted({row["python"] for row in rows}))
    text += f"\nPeak allocated, MiB, by libtorch's own allocator; Python {pythons}, {CARD}.\n"
    return text + "".join(f"\n{i}. {words}" for i, words in enumerate(notes, 1)) + ("\n" if notes else "")


if __name__ == "__main__":
    if sys.argv[1] == "run":
        sys.exit(run(sys.argv[2], sys.argv[3], Path(sys.argv[4]), sys.argv[5:]))
    print(table(read(Path(sys.argv[2]))), end="")
