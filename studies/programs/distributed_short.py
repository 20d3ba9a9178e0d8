"""Of published peaks of distributed runs some beside ours, as Markdown: those that have a `short` name.

usage: distributed_short.py GOLDEN.json OUR_GOLDEN.json PROGRAMS.json OUR_PROGRAM.json...
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "megatron"))
import distributed_programs
import distributed_table

GIB = 1024**3
UNITS = {"MiB": 1024**2, "GiB": GIB, "GiB reserved": GIB}


def difference(ours, published):
    return "equal" if ours == published else f"{100 * (ours - published) / published:+.3f} %"


def golden_rows(published, ours):
    names = {case["case"]: case["short"] for case in published["cases"] if "short" in case}
    for runs, files in distributed_table.rows_of(published, ours):
        name = names.get(runs[0]["case"])
        if name and runs[0]["card"].startswith("a100"):
            value, theirs = distributed_table.closest(files, runs, "peak")
            yield f"Megatron-LM, {name}", f"{theirs / GIB:.6f}", f"{value / GIB:.6f}", difference(value, theirs)


def program_rows(program, ours):
    rows = distributed_programs.rows(program, ours)
    for figure, (_, theirs, value, off) in zip(program["figures"], rows, strict=True):
        if "short" in figure:
            to_gib = UNITS[figure["unit"]] / GIB
            digits = 6 if to_gib < 1 else 1
            numbers = (f"{float(text.replace(',', '')) * to_gib:.{digits}f}" for text in (theirs, value))
            yield (f"{program['repository'].split('/')[0]}, {figure['short']}", *numbers, off)


def main(paths):
    if len(paths) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    golden, our_golden, programs, *all_ours = map(distributed_programs.load, paths)
    rows = list(golden_rows(golden, our_golden))
    for ours in all_ours:
        program = next(one for one in programs["programs"] if one["repository"] == ours["repository"])
        rows += program_rows(program, ours)
    print("| whose program, unmodified | published, GiB | ours, GiB | difference |\n| --- | ---: | ---: | ---: |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
