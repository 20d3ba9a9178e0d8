"""Runs the commands of published anchors and prints both figures, as Markdown.

usage: anchor_table.py ANCHORS.json HEADROOM [--check FILE]

An anchor's "within" says how far ours may be from the published figure: a fraction of it; 0 = equal
in the digits that were printed; "window" = ours from the rounded input may be off, but the
published figure must lie between those of the input's two roundings; null = shown beside each
other, no more.
--check: FILE must hold exactly what is printed.
Exit codes: 0, 1 an anchor (or FILE) no longer holds, 2 usage, 5 a command failed.
"""

import json
import subprocess
import sys
from decimal import Decimal

UNITS = {"GiB": 1 << 30, "MiB": 1 << 20}


class CommandError(Exception):
    pass


def tables_of(headroom, anchor, shapes, size):
    words = []
    for word in anchor["command"]:
        words += shapes[word[1:]] if word.startswith("@") else [word.replace("{input}", str(size))]
    run = subprocess.run(
        [headroom, *words, "--format", "json"], capture_output=True, text=True, check=False
    )
    if run.returncode not in (0, 4):  # 4: it does not fit, and the figures are there
        raise CommandError(f"{anchor['what']}: headroom {' '.join(words)}: {run.stderr.strip()}")
    tables = json.loads(run.stdout)
    return tables if isinstance(tables, list) else [tables]


def number(cell):
    return Decimal(cell.replace(",", "")) if isinstance(cell, str) else Decimal(cell)


def our_figure(headroom, anchor, shapes, size=None):
    """Sum of the column's cells in the named rows (of all where none is named), in its unit."""
    value = anchor["value"]
    table = next(
        t
        for t in tables_of(headroom, anchor, shapes, size)
        if t["title"].startswith(value["table"])
    )
    rows = {next(iter(row.values())): row for row in table["rows"]}
    found = [rows[name] for name in value["rows"]] if "rows" in value else table["rows"]
    return sum(number(row[value["column"]]) for row in found) / UNITS.get(anchor["unit"], 1)


def printed_half(published):
    """Half a unit of the last digit that was printed."""
    return Decimal(5) * Decimal(10) ** (Decimal(published).as_tuple().exponent - 1)


def percent(ours, published):
    change = 100 * (ours / published - 1)
    return (
        f"{change:+.2f} %" if abs(change) >= Decimal("0.01") or change == 0 else f"{change:+.4f} %"
    )


def window_row(headroom, anchor, shapes):
    size, half, published = (
        Decimal(anchor["input"]),
        Decimal(anchor["input_rounding"]),
        Decimal(anchor["published"]),
    )
    low, ours, high = (
        int(our_figure(headroom, anchor, shapes, at)) for at in (size - half, size, size + half)
    )
    holds = low <= published <= high
    return [f"{published:,}", f"{ours:,}", f"{ours - published:+,}", f"{low:,} to {high:,}"], holds


def plain_row(headroom, anchor, shapes):
    published, within = Decimal(anchor["published"]), anchor["within"]
    ours = our_figure(headroom, anchor, shapes)
    decimals = max(0, -published.as_tuple().exponent)
    if within == 0:
        holds = abs(ours - published) <= printed_half(published)
        return [
            f"{published:,}",
            f"{ours:,.{decimals}f}",
            "0" if holds else percent(ours, published),
            "exact",
        ], holds
    allowed = "not compared" if within is None else f"{100 * within:.2g} %"
    holds = within is None or abs(ours / published - 1) <= within
    return [f"{published:,}", f"{ours:,.{decimals + 1}f}", percent(ours, published), allowed], holds


def section(headroom, kind, anchors, data, numbers):
    """The Markdown of one kind, and the names of the anchors that do not hold."""
    lines = [f"### {kind['title']}\n"] + ([kind["note"] + "\n"] if "note" in kind else [])
    lines += [
        "| anchor | published | ours | difference | allowed | source |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    notes, broken = [], []
    for anchor in anchors:
        row = window_row if anchor["within"] == "window" else plain_row
        cells, holds = row(headroom, anchor, data["shapes"])
        if not holds:
            broken.append(
                f"{anchor['what']}: published {cells[0]}, ours {cells[1]}, allowed {cells[3]}"
            )
        lines.append(
            "| " + " | ".join([anchor["what"], *cells, f"[{numbers[anchor['source']]}]"]) + " |"
        )
        if "note" in anchor:
            notes.append(f"- {anchor['what']}: {anchor['note']}.")
    return "\n".join(lines + ([""] + notes if notes else [])), broken


def report(data, headroom):
    numbers = {name: place + 1 for place, name in enumerate(data["sources"])}
    parts, broken = (
        [f"## Public figures, and ours\n\nWritten by `studies/published/compare_anchors.sh`. {data['note']}"],
        [],
    )
    for name, kind in data["kinds"].items():
        anchors = [anchor for anchor in data["anchors"] if anchor["kind"] == name]
        text, off = section(headroom, kind, anchors, data, numbers)
        parts.append(text)
        broken += off
    parts.append(
        "### Sources\n\n"
        + "\n".join(f"{numbers[name]}. {text}" for name, text in data["sources"].items())
    )
    return "\n\n".join(parts) + "\n", broken


def main():
    arguments = sys.argv[1:]
    check = arguments.pop() if len(arguments) == 4 and arguments[2] == "--check" else None
    if len(arguments) != (3 if check else 2):
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        data = json.load(file, parse_float=Decimal)
    try:
        text, broken = report(data, arguments[1])
    except CommandError as error:
        print(f"anchor_table: {error}", file=sys.stderr)
        return 5
    if check is None:
        print(text, end="")
    else:
        with open(check, encoding="utf-8") as file:
            if file.read() != text:
                broken.append(
                    f"{check} is not what is computed now: studies/published/compare_anchors.sh writes it"
                )
    for line in broken:
        print(f"anchor_table: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
