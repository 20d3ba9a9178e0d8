"""Steps under one version of PyTorch, and the table of all versions; for scripts/torch_versions.sh.

usage: torch_versions.py run HEADROOM PYTHON CARD     a line of JSON per cell
       torch_versions.py table FILE...                Markdown; the files are of `run`
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

BASE = "2.11"
PROGRAM = "studies/estimators/eager_step.py"
WORKSPACES = "studies/programs/workspaces.py"
# Compute capability 8.0, 8.9, 9.0, 10.0, 12.0.
CARDS = ("a100-80gb", "rtx4090", "h200", "b200", "rtx5090")
STEP = ("--device", "cuda", "--model-size", "2.7B", "--batch-size", "4", "--context-length", "512",
        "--warmup-steps", "2", "--measure-steps", "1")
CELLS = [(mode, precision, attention) for mode in ("forward", "training")
         for precision in ("fp32", "bf16") for attention in ("standard", "sdpa")]
MIB, GIB = 1 << 20, 1 << 30


def workspaces(torch: str, card: str, printed: str) -> dict:
    words = printed.split()
    pairs = {words[i]: [int(words[i + 1]), int(words[i + 2])] for i in range(0, len(words), 3)}
    return {"torch": torch, "card": card, "workspaces": pairs}


def run_workspaces(headroom: str, python: str, torch: str, card: str) -> dict:
    command = [headroom, "dryrun", "--card", card, "--", python, WORKSPACES]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return workspaces(torch, card, done.stdout)


def run_cell(headroom: str, python: str, card: str, cell: tuple[str, str, str]) -> dict:
    mode, precision, attention = cell
    with tempfile.TemporaryDirectory() as folder:
        report, uses = Path(folder, "report.json"), Path(folder, "uses.json")
        done = subprocess.run(
            [headroom, "dryrun", "--card", card, "--json", str(report), "--breakdown", "--output",
             str(uses), "--", python, PROGRAM, *STEP, "--profile-type", mode, "--precision",
             precision, "--attention", attention],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(cell)}: exit code {done.returncode}: {done.stderr[-400:]}")
        process = json.loads(report.read_text())["processes"][0]
        devices = json.loads(uses.read_text())["processes"][0].get("devices", [])
    allocator = process["devices"][0]["allocator"]
    return {"torch": process["torch"], "card": card, "profile_type": mode, "precision": precision,
            "attention": attention, "peak_allocated_bytes": allocator["peak_allocated_bytes"],
            "peak_reserved_bytes": allocator["peak_reserved_bytes"],
            "requested_bytes": allocator["peak_requested_bytes"],
            "uses": devices[0]["categories"] if devices else {}}


def number(row: dict) -> tuple[int, ...]:
    return tuple(int(part) for part in row["torch"].split("+")[0].split("."))


def mebi(difference: int) -> str:
    return "0" if difference == 0 else f"{difference / MIB:+,.1f}"


def table_of(field: str, by_cell: dict, versions: list[dict], base: dict) -> list[str]:
    heads = [row["torch"] for row in versions]
    lines = ["| mode | precision | attention | " + " | ".join(heads) + " |",
             "| --- | --- | --- |" + " ---: |" * len(heads)]
    for cell in CELLS:
        columns = []
        for head in heads:
            row = by_cell.get((head, *cell))
            known = base.get(cell)
            if row is None:
                columns.append("")
            elif known is None or row is known:
                columns.append(f"{row[field] / GIB:.3f} GiB")
            else:
                columns.append(mebi(row[field] - known[field]))
        lines.append("| " + " | ".join((*cell, *columns)) + " |")
    return lines


def workspaces_of(rows: list[dict], versions: list[dict]) -> list[str]:
    """Of a product (cuBLAS), and beyond it of one with a bias (cuBLASLt)."""
    heads = [row["torch"] for row in versions]
    found = {(row["torch"], row["card"], name): pair for row in rows if "workspaces" in row
             for name, pair in row["workspaces"].items()}
    lines = ["| card | product | " + " | ".join(heads) + " |", "| --- | --- |" + " ---: |" * len(heads)]
    for card in CARDS:
        for name in ("mm", "addmm"):
            pairs = [found.get((head, card, name)) for head in heads]
            texts = ["" if pair is None else f"{pair[1] / MIB:.3f}" + (" kept" if pair[0] else "")
                     for pair in pairs]
            lines.append("| " + " | ".join((card, name, *texts)) + " |")
    return lines


def uses_of(by_cell: dict, versions: list[dict], base: dict) -> list[str]:
    lines = ["| mode | precision | attention | torch | " + "differences, MiB |", "| --- | --- | --- | --- | --- |"]
    for cell in CELLS:
        before = {}
        for version in versions:
            row, known = by_cell.get((version["torch"], *cell)), base.get(cell)
            if row is None or known is None or row is known or not row["uses"]:
                continue
            names = sorted({*row["uses"], *known["uses"]})
            changes = {name: row["uses"].get(name, 0) - known["uses"].get(name, 0) for name in names}
            changes = {name: change for name, change in changes.items() if change != 0}
            if changes and changes != before:
                text = ", ".join(f"{name} {mebi(change)}" for name, change in changes.items())
                lines.append("| " + " | ".join((*cell, version["torch"], text)) + " |")
            before = changes
    return lines


def table(files: list[str]) -> str:
    rows = [json.loads(line) for file in files for line in Path(file).read_text().splitlines()]
    by_cell = {(row["torch"], row["profile_type"], row["precision"], row["attention"]): row
               for row in rows if "uses" in row}
    versions = sorted({row["torch"]: row for row in rows}.values(), key=number)
    base = {cell: row for (torch, *cell_), row in by_cell.items() if torch.startswith(BASE + ".")
            for cell in [tuple(cell_)]}
    parts = [f"2.7B, batch 4, context 512, third step, virtual {rows[0]['card']}. In MiB beside {BASE}."]
    for title, field in (("Peak allocated", "peak_allocated_bytes"), ("Peak reserved", "peak_reserved_bytes")):
        parts += ["", f"#### {title}", "", *table_of(field, by_cell, versions, base)]
    parts += ["", f"#### Use of the difference in allocated memory from {BASE}, where it changes", "",
              *uses_of(by_cell, versions, base)]
    parts += ["", "#### Workspaces of matrix products, MiB", "", *workspaces_of(rows, versions)]
    return "\n".join(parts)


def main() -> None:
    command, *arguments = sys.argv[1:]
    if command == "table":
        print(table(arguments))
        return
    headroom, python, card = arguments
    for cell in CELLS:
        row = run_cell(headroom, python, card, cell)
        print(json.dumps(row), flush=True)
    for workspace_card in CARDS:
        print(json.dumps(run_workspaces(headroom, python, row["torch"], workspace_card)), flush=True)


if __name__ == "__main__":
    main()
