"""Prints a published measurement beside our Records, as Markdown.

usage: published_table.py PUBLISHED.json RECORDS.jsonl [--peaks]
published_program.json beside the Records, from program_cells.py, is a column. --peaks: one row a cell and no title, as the README shows it; else every phase that was published.
"""

import json
import sys
from pathlib import Path

GIB = 1 << 30


def read_records(path):
    """The last Record of each (context, mode, precision)."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in filter(str.strip, file):
            record = json.loads(line)
            spec = record["spec"]
            found[spec["context_length"], spec["profile_type"], spec["precision"]] = record
    return found


def comparison(published_gib, ours_bytes):
    """The two figures and how far ours is from the published one, in percent."""
    if ours_bytes is None:
        return [f"{published_gib:.3f}", "not run", "-"]
    ours_gib = ours_bytes / GIB
    return [f"{published_gib:.3f}", f"{ours_gib:.4f}", f"{100 * (ours_gib / published_gib - 1):+.3f} %"]


def key_of(cell):
    return cell["context_length"], cell["profile_type"], cell["precision"]


def cause_numbers(published):
    """The number of the cause of each (key, row) that has one."""
    numbers = {}
    for number, cause in enumerate(published.get("causes", ()), start=1):
        numbers.update({(key_of(cause), row): str(number) for row in cause["rows"]})
    return numbers


def rows(published, records):
    for cell in published["cells"]:
        key = key_of(cell)
        record = records.get(key, {})
        phases = record.get("phases", {})
        yield [key, "peak", *comparison(cell["peak_gib"], record.get("peak_allocated_bytes"))]
        for name, gib in cell.get("phases_gib", {}).items():
            ours = phases.get(name, {}).get("allocated_bytes")
            yield [key, name, *comparison(gib, ours)]


def program_column(program, lines):
    """Its torch, and its figure beside each row, bold where it has not the published digits."""
    known = {(str(c["context_length"]), c["profile_type"], c["precision"]): c for c in program["cells"]}
    column = []
    for context, mode, precision, name, published, *_ in lines:
        figure = known[context, mode, precision][name] / GIB
        is_equal = f"{figure:.3f}" == published
        column.append(f"{figure:.4f}" if is_equal else f"**{figure:.4f}**")
    return f"its program, torch {program['torch'].split('+')[0]}", column


def main():
    peaks_only = sys.argv[3:] == ["--peaks"]
    cells = Path(sys.argv[2]).with_name("published_program.json")
    program = json.loads(cells.read_text()) if cells.exists() and not peaks_only else None
    with open(sys.argv[1], encoding="utf-8") as file:
        published = json.load(file)
    records = read_records(sys.argv[2])
    numbers = cause_numbers(published)
    head = ["context", "mode", "precision", "", "published, GiB", "ours, GiB", "difference", "cause"]
    rule = ["---:", "---", "---", "---", "---:", "---:", "---:", "---"]
    lines = [[*map(str, key), *row, numbers.get((key, row[0]), "")] for key, *row in rows(published, records)]
    if program:
        name, column = program_column(program, lines)
        head.insert(5, name)
        rule.insert(5, "---:")
        for line, figure in zip(lines, column, strict=True):
            line.insert(5, figure)
        equal = sum("**" not in figure for figure in column)
    shown = [head, rule, *lines]
    if peaks_only:
        shown = [row[:3] + row[4:7] for row in shown if row[3] in ("", "---", "peak")]
    else:
        print("### A published measurement, and the same cells on a virtual card\n")
    for row in shown:
        print("| " + " | ".join(row) + " |")
    if numbers and not peaks_only:
        print("\nFigures with a known cause of their difference:\n")
        for number, cause in enumerate(published["causes"], start=1):
            print(f"{number}. {cause['cause']}.")
    if program:
        print(f"\nThe published program itself, under headroom dryrun: {equal} of {len(column)} figures have the published digits.")
    print(f"\nPublished: {published['what']} ({published['source']}).")
    print(f"\nOurs: {published['device']}, peak allocated, no card in the machine; {published['protocol']['what']}.")


if __name__ == "__main__":
    main()
