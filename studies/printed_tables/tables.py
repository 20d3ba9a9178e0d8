"""Tables of memory that other people's programs print, beside those that the same programs print on a virtual card.

usage: tables.py publish PUBLISHED CHECKOUT              gives the tables of PUBLISHED the cells that CHECKOUT has
       tables.py programs PUBLISHED CHECKOUT             prints a program of CHECKOUT a line: name, commit, torch, packages,
                                                         folder, PYTHONPATH, the file that it writes or -, flags, words
       tables.py read PUBLISHED NAME TORCH OUTPUT...     prints the cells that are in OUTPUTs, as a line of JSON
       tables.py table PUBLISHED OURS.jsonl              prints both as Markdown
"""

import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

OURS = "2.11.0"


def load(path):
    return json.loads(Path(path).read_text())


def git(checkout, *words):
    return subprocess.run(["git", "-C", checkout, *words], capture_output=True, text=True, check=False)


def programs_in(published, checkout):
    known = load(published)["programs"]
    return [one for one in known if git(checkout, "cat-file", "-e", f"{one['commit']}^{{commit}}").returncode == 0]


def markdown_rows(text, names):
    """The cells under these names, of every table that has them all."""
    header = None
    for line in text.splitlines():
        cells = [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|"):
            header = None
        elif header is None:
            header = cells if set(names) <= set(cells) else []
        elif header and not set(cells[0]) <= set(":-"):
            found = dict(zip(header, cells, strict=False))
            yield [found.get(name, "") for name in names]


def rows_of(table, text):
    """[keys and cells] of the rows that the table is about."""
    where = table.get("where", {})
    names = [*table["keys"], *table["columns"], *where]
    for row in markdown_rows(text, names):
        if row[len(row) - len(where) :] == list(where.values()):
            yield row[: len(row) - len(where)]


def publish(published, checkout):
    known = load(published)
    here = [one["name"] for one in programs_in(published, checkout)]
    for program in known["programs"]:
        for table in program["tables"] if program["name"] in here else ():
            if "file" not in table:
                continue  # its figures are in a comment, not in a file
            text = git(checkout, "show", f"{program['commit']}:{table['file']}").stdout
            table["rows"] = list(rows_of(table, text))
    lines = ",\n  ".join(json.dumps(program) for program in known.pop("programs"))
    head = json.dumps(known, indent=1).removesuffix("\n}")
    Path(published).write_text(f'{head},\n "programs": [\n  {lines}\n ]\n}}\n')


def programs(published, checkout):
    for one in programs_in(published, checkout):
        fields = [one[name] for name in ("name", "commit", "torch")]
        fields += [one.get("packages", "none"), one.get("folder", "."), ":".join(one["paths"]), one.get("writes", "-")]
        print(*fields, " ".join(["--card", one["card"], *one.get("flags", ())]), " ".join(one["words"]), sep="\t")


def printed(table, text):
    """Their cells by the keys of the row. A program that prints no table has a pattern of keys and cells."""
    if "pattern" not in table:
        return {tuple(row[: len(table["keys"])]): row[len(table["keys"]) :] for row in rows_of(table, text)}
    found = [match.groups() for match in re.finditer(table["pattern"], text)]
    return {row[: len(table["keys"])]: list(row[len(table["keys"]) :]) for row in found}


def read(published, name, torch, outputs):
    program = next(one for one in load(published)["programs"] if one["name"] == name)
    text = "\n\n".join(Path(path).read_text(errors="replace") for path in outputs)
    cells = {}
    for table in program["tables"]:
        found = printed(table, text)
        keys = [tuple(row[: len(table["keys"])]) for row in table["rows"]]
        cells[table["what"]] = [found.get(key, [None] * len(table["columns"])) for key in keys]
    print(json.dumps({"program": name, "torch": torch, "cells": cells}))


def is_equal(theirs, mine, table):
    """In every digit. What a program prints with more digits than its table has is printed as the table is."""
    if "pattern" in table:
        mine = f"{float(mine):.6g}" if table.get("digits", 6) == 6 else str(round(Decimal(mine), table["digits"]))
    return Decimal(theirs) == Decimal(mine)


def compared(table, mine):
    """How many cells are equal, of how many, that as text, and the largest difference."""
    count = len(table["keys"])
    pairs = [pair for row, ours in zip(table["rows"], mine, strict=True) for pair in zip(row[count:], ours, strict=True)]
    known = [(theirs, one) for theirs, one in pairs if one is not None]
    off = [float(one) - float(theirs) for theirs, one in known if not is_equal(theirs, one, table)]
    equal = len(known) - len(off)
    lost = len(pairs) - len(known)
    notes = [f"{max(off, key=abs):+,.6g}" if off else "", f"{lost} not printed" if lost else ""]
    return equal, len(pairs), f"{equal} of {len(pairs)}", ", ".join(filter(None, notes))


def table_of(published, ours):
    known = load(published)
    found = {(row["program"], row["torch"]): row["cells"] for row in map(json.loads, Path(ours).read_text().splitlines())}
    print("### Tables that other people's programs printed, cell by cell\n")
    print(f"| program | table | card | torch | equal in every digit | largest difference | in {OURS} | largest |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: | ---: |")
    equal = cells = newer = others = 0
    ran = [program for program in known["programs"] if (program["name"], program["torch"]) in found]
    for number, program in enumerate(ran, 1):
        mine, here = (found.get((program["name"], torch)) for torch in (program["torch"], OURS))
        for table in program["tables"]:
            count, all_of, text, largest = compared(table, mine[table["what"]])
            equal, cells = equal + count, cells + all_of
            note = f" ({table['cause']})" if largest and "cause" in table else ""
            other = compared(table, here[table["what"]]) if here is not None else (0, 0, "-", "-")
            newer, others = newer + other[0], others + other[1]
            fields = [f"{program['name']} [{number}]", table["what"], program["card"], program["torch"], text, largest + note]
            print("| " + " | ".join([*fields, *other[2:]]) + " |")
    print(f"\n{equal} of {cells} cells are equal in every digit under the torch of their publishers;", end=" ")
    print(f"in {OURS} {newer} of {others}.")
    for number, cause in enumerate(known["causes"], 1):
        print(f"\n({number}) {cause}")
    for number, program in enumerate(ran, 1):
        print(f"\n[{number}] {program['source']}")
    print(f"\n{known['source']}")


def main(words):
    match words:
        case ["publish", published, checkout]:
            publish(published, checkout)
        case ["programs", published, checkout]:
            programs(published, checkout)
        case ["read", published, name, torch, *outputs] if outputs:
            read(published, name, torch, outputs)
        case ["table", published, ours]:
            table_of(published, ours)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
