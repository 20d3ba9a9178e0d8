"""Memory of a rank of our step at rest, beside published figures of runs on several GPUs, as
Markdown.

usage: mesh_figures_table.py run PUBLISHED.json HEADROOM [RUN...]
           Records, one a line: what is live of each rank when its update ends, by category; of all
           runs without RUN
       mesh_figures_table.py show PUBLISHED.json RECORDS
           the table; what theirs has beside ours is by letter
       mesh_figures_table.py theory PUBLISHED.json HEADROOM RECORDS
           is silent where headroom theory has the parameters of every rank in RECORDS

A row is exact, leaves nothing or is an error: published = ours + what theirs has besides, in the
digits that were printed.
Exit codes: 0, 1 a row is not exact or a run failed, 2 usage, 5 a row names what is not there, a
file cannot be read or what is printed not written.
"""

import json
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from one_run import record_of_run  # noqa: E402

UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "B": 1}
PART_DECIMALS = {"GiB": 7, "MiB": 4}  # of what stands beside ours
BF16_BYTES = 2  # of an element where a row counts elements
SHAPE = "--model-size custom --context-length 128 --profile-type training --attention sdpa"
HOW = (
    "--warmup-steps 1 --measure-steps 1 --record-steps 1 --stacks none "
    "--device virtual:h100-80gb,bytes=1TiB --format json"
)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def records_of(path):
    with open(path, encoding="utf-8") as lines:
        return {record["run"]: record for record in map(json.loads, lines)}


def run(published, headroom, names):
    for name in names or published["runs"]:
        words = f"profile {SHAPE} {published['runs'][name]} {HOW}".split()
        ranks = [
            {
                "rank": rank["rank"],
                "allocated_bytes": rank["allocated_bytes"],
                "live_bytes": rank["phase_end_bytes"]["optimizer"],
            }
            for rank in record_of_run([headroom, *words])["ranks"]
        ]
        print(json.dumps({"run": name, "ranks": ranks}), flush=True)


def live_bytes(records, figure):
    (rank,) = [one for one in records[figure["run"]]["ranks"] if one["rank"] == figure["rank"]]
    return rank["live_bytes"]


def our_bytes(records, figure):
    """Of the categories that the row takes, so often; of other parameters in proportion."""
    live = live_bytes(records, figure)
    total = Fraction(sum(times * live[category] for category, times in figure["take"].items()))
    if "of_parameters" in figure:
        total *= Fraction(figure["of_parameters"], live["parameters"] // BF16_BYTES)
    return total


def digits(number, decimals):
    return f"{Decimal(number.numerator) / Decimal(number.denominator):,.{decimals}f}"


def row(published, records, figure, numbers):
    """Its cells, and whether nothing is left over. Where no unit is named elements are counted."""
    unit = figure.get("unit")
    size = UNITS[unit] if unit else 1
    printed = Decimal(figure["published"])
    decimals = max(0, -printed.as_tuple().exponent)
    ours = our_bytes(records, figure) / (size if unit else BF16_BYTES)
    besides = {letter: Fraction(much, size) for letter, much in figure.get("beside", {}).items()}
    left = Fraction(printed) - ours - sum(besides.values())
    exact = abs(left) <= Fraction(5, 10 ** (decimals + 1)) if decimals else left == 0
    parts = [
        f"{letter} {digits(much, PART_DECIMALS.get(unit, 0))}" for letter, much in besides.items()
    ]
    return [
        figure["what"],
        digits(Fraction(printed), min(decimals, 6)),
        digits(ours, min(decimals, 6)),
        ", ".join(parts),
        ("0" if besides else "exact") if exact else digits(left, decimals),
        f"[{numbers[figure['source']]}]",
    ], exact


def show(published, records):
    numbers = {name: place + 1 for place, name in enumerate(published["sources"])}
    print(
        "| figure | published | ours | only in theirs | remainder | source |\n"
        "| --- | ---: | ---: | --- | ---: | --- |"
    )
    off = []
    for kind, about in published["kinds"].items():
        print(f"| **{about['title']}** | | | | | |")
        for figure in (one for one in published["figures"] if one["kind"] == kind):
            cells, exact = row(published, records, figure, numbers)
            print(f"| {' | '.join(cells)} |")
            if not exact:
                off.append(
                    f"{figure['what']}: published {cells[1]}, ours {cells[2]}, besides "
                    f"{cells[3] or 'nothing'}, left {cells[4]}"
                )
    print(f"\n{published['note']}\n")
    for letter, entry in published["beside"].items():
        print(f"- {letter}: {entry['what']} ({entry['known']})")
    print(f"\n{published['known']}\n")
    for name, text in published["sources"].items():
        print(f"{numbers[name]}. {text}")
    for line in off:
        print(f"mesh_figures_table: {line}", file=sys.stderr)
    return 1 if off else 0


def theory(published, headroom, records):
    off = []
    for name, record in records.items():
        words = published["runs"][name].split()
        at = words.index("--rank")
        for rank in record["ranks"]:
            words[at + 1] = str(rank["rank"])
            command = [
                headroom,
                "theory",
                *SHAPE.split(),
                *words,
                "--device",
                "virtual:h100-80gb",
                "--format",
                "json",
            ]
            tables = json.loads(
                subprocess.run(command, capture_output=True, text=True, check=True).stdout
            )
            alive = next(table for table in tables if table["title"].startswith("Alive"))["rows"]
            said = sum(
                one["size_bytes"]
                for one in alive
                if one["part"] == "parameters" and one["made at"].startswith("build")
            )
            held = rank["live_bytes"]["parameters"]
            if said != held:
                off.append(
                    f"{name}, rank {rank['rank']}: theory has {said:,} B of parameters, "
                    f"the step {held:,}"
                )
    for line in off:
        print(f"mesh_figures_table: {line}", file=sys.stderr)
    return 1 if off else 0


def main(words):
    match words:
        case ["run", published, headroom, *names]:
            return run(load(published), headroom, names) or 0
        case ["show", published, records]:
            try:
                return show(load(published), records_of(records))
            except (KeyError, ValueError) as error:
                print(
                    f"mesh_figures_table: {published} and {records}: {error!r} is not there",
                    file=sys.stderr,
                )
                return 5
        case ["theory", published, headroom, records]:
            return theory(load(published), headroom, records_of(records))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except OSError as error:
        print(f"mesh_figures_table: {error.filename or 'stdout'}: {error.strerror}", file=sys.stderr)
        sys.exit(5)
