"""Peaks of distributed programs with events that are done at once and with events that are done late.

usage: event_bounds.py run HEADROOM       runs them under this Python; prints what each rank took, as JSON
       event_bounds.py table EVENTS.json  prints it as Markdown
"""

import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, "tests", "virtual_gpu", "programs", "distributed")
CARD = "h100-80gb"
ROWS = (
    ("pipelining, 1F1B", "pipeline.py", ["1f1b"], 4),
    ("pipelining, interleaved 1F1B", "pipeline.py", ["interleaved"], 2),
    ("FSDP2, BF16 mixed", "fsdp2.py", [], 2),
    ("DDP", "ddp.py", [], 2),
)
PEAKS = {"peak_allocated_bytes": "peak allocated", "peak_reserved_bytes": "peak reserved"}
MIB = 1024 * 1024


def peaks_by_rank(document):
    return {
        process["rank"]: {peak: process["devices"][0]["allocator"][peak] for peak in PEAKS}
        for process in document["processes"]
    }


def measured(headroom, what, program, arguments, ranks):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        done = subprocess.run(
            [headroom, "dryrun", "--card", CARD, "--gpus", str(ranks), "--events", "both", "--json", report, "--",
             sys.executable, *launcher, os.path.join(PROGRAMS, program), *arguments],
            cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{what}: {done.stderr.strip()[-2000:]}")
        with open(report, encoding="utf-8") as file:
            document = json.load(file)
    early, late = peaks_by_rank(document), peaks_by_rank(document["late"])
    rows = [{"rank": rank, "done": early[rank], "late": late[rank]} for rank in sorted(early)]
    return {"what": what, "program": program, "ranks": rows}


def span(row, peak):
    least, most = sorted((row["done"][peak], row["late"][peak]))
    text = f"{least / MIB:,.3f}"
    return text if least == most else f"{text} to {most / MIB:,.3f}"


def table(document):
    print("| program | rank | " + " | ".join(f"{name}, MiB" for name in PEAKS.values()) + " |")
    print("| --- | ---: | ---: | ---: |")
    for program in document["programs"]:
        for row in program["ranks"]:
            cells = [program["what"], f"{row['rank']} of {len(program['ranks'])}", *(span(row, peak) for peak in PEAKS)]
            print("| " + " | ".join(cells) + " |")
    print(f"\nheadroom dryrun --card {CARD} --events both -- torchrun PROGRAM; torch {document['torch']}.")


def main(words):
    match words:
        case ["run", headroom]:
            from importlib.metadata import version

            programs = [measured(headroom, *row) for row in ROWS]
            print(json.dumps({"torch": version("torch"), "programs": programs}, indent=1))
        case ["table", path]:
            with open(path, encoding="utf-8") as file:
                table(json.load(file))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
