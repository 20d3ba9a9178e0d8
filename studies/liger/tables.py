"""The memory tables of Liger-Kernel's repository beside what its scripts measure on a virtual card.

usage: tables.py publish PUBLISHED CHECKOUT              gives each run of PUBLISHED the rows that its commit added to the table
       tables.py runs PUBLISHED                          prints a run a line: name, commit, card, torch, transformers, values read
       tables.py run PUBLISHED NAME                      prints that run, as JSON
       tables.py read PUBLISHED TORCH OUTPUT             prints what OUTPUT says of its runs, a line of JSON for each
       tables.py table PUBLISHED OURS.jsonl              prints both as Markdown
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

TABLE = "benchmark/data/all_benchmark_data.csv"
FIELDS = ("kernel_provider", "kernel_operation_mode", "x_value", "y_value_50")
OURS = "2.11.0"


def load(path):
    return json.loads(Path(path).read_text())


def name_of(run):
    return f"{run['kernel']}, {run['card']}, {run['date']}"


def run_of(published, name):
    return next(run for run in load(published)["runs"] if name_of(run) == name)


def table_at(checkout, commit):
    """The rows of memory at a commit."""
    shown = subprocess.run(
        ["git", "-C", checkout, "show", f"{commit}:{TABLE}"], capture_output=True, text=True, check=False
    )
    return [row for row in csv.DictReader(io.StringIO(shown.stdout)) if row["metric_name"] == "memory"]


def publish(published, checkout):
    known = load(published)
    for run in known["runs"]:
        before = table_at(checkout, f"{run['commit']}^")
        added = [row for row in table_at(checkout, run["commit"]) if row not in before]
        rows = [row for row in added if row["kernel_name"] == run["kernel"] and row["gpu_name"] == run["gpu"]]
        rows = [row for row in rows if row["timestamp"].startswith(run["date"])]
        run["settings"] = list(dict.fromkeys(row["extra_benchmark_config_str"] for row in rows))
        run["rows"] = [
            [run["settings"].index(row["extra_benchmark_config_str"]), *(row[field] for field in FIELDS)] for row in rows
        ]
    lines = ",\n  ".join(json.dumps(run) for run in known.pop("runs"))
    head = json.dumps(known, indent=1).removesuffix("\n}")
    Path(published).write_text(f'{head},\n "runs": [\n  {lines}\n ]\n}}\n')


def runs(published):
    for run in load(published)["runs"]:
        print(name_of(run), run["commit"], run["card"], run["torch"], run["transformers"], run.get("values", "none"), sep="\t")


def read(published, torch, output):
    lines = Path(output).read_text(errors="replace").splitlines()
    rows = [json.loads(line[4:]) for line in lines if line.startswith("row ")]
    found = {tuple(row[:5]): row[5] for row in rows}
    for name in dict.fromkeys(row[0] for row in rows):
        wanted = run_of(published, name)["rows"]
        print(json.dumps({"run": name, "torch": torch, "mib": [found.get((name, *row[:4])) for row in wanted]}))


def compared(run, mine):
    """How many figures are equal to the byte, of how many, and the largest difference in MiB."""
    pairs = [(float(row[4]), one) for row, one in zip(run["rows"], mine, strict=True)]
    equal = sum(theirs == one for theirs, one in pairs)
    off = [one - theirs for theirs, one in pairs if isinstance(one, float) and one != theirs]
    text = f"{equal} of {len(pairs)}"
    largest = f"{max(off, key=abs):+,.3f}" if off else ""
    failed = sum(not isinstance(one, float) for _, one in pairs)
    return equal, len(pairs), text, ", ".join(filter(None, [largest, f"{failed} without a figure" if failed else ""]))


def table(published, ours):
    known = load(published)
    found = {(row["run"], row["torch"]): row["mib"] for row in map(json.loads, Path(ours).read_text().splitlines())}
    print("### Liger-Kernel's tables of memory, by the torch of their day\n")
    print(f"| kernel | card | table of | torch | equal to the byte | largest difference, MiB | in {OURS} | largest, MiB |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: | ---: |")
    equal = figures = newer = others = 0
    for run in known["runs"]:
        mine, here = (found.get((name_of(run), torch)) for torch in (run["torch"], OURS))
        if mine is None:
            continue
        count, all_of, text, largest = compared(run, mine)
        equal, figures = equal + count, figures + all_of
        note = f" ({run['cause']})" if largest and "cause" in run else ""
        other = compared(run, here) if here is not None else (0, 0, "-", "-")
        newer, others = newer + other[0], others + other[1]
        cells = [run["kernel"], run["card"], run["date"], run["torch"], text, largest + note, *other[2:]]
        print("| " + " | ".join(cells) + " |")
    print(f"\n{equal} of {figures} figures are equal to the byte under the torch of their day; in {OURS} {newer} of {others}.")
    left = [name_of(run) for run in known["runs"] if (name_of(run), run["torch"]) not in found]
    if left:
        print(f"\nNot run yet: {'; '.join(left)}.")
    for number, cause in enumerate(known["causes"], 1):
        print(f"\n{number}. {cause}")
    print(f"\n{known['source']}")


def main(words):
    match words:
        case ["publish", published, checkout]:
            publish(published, checkout)
        case ["runs", published]:
            runs(published)
        case ["run", published, name]:
            print(json.dumps({"name": name, **run_of(published, name)}))
        case ["read", published, torch, output]:
            read(published, torch, output)
        case ["table", published, ours]:
            table(published, ours)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
