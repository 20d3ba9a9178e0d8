"""Snapshots of memory that a real card recorded, beside those of the same program on a virtual card.

usage: snapshot_table.py list PUBLISHED                                prints a snapshot a line: folder, context, words
       snapshot_table.py read FOLDER CONTEXT TORCH COMPARISON.csv      prints what `headroom compare` found, as a line of JSON
       snapshot_table.py table PUBLISHED OURS.jsonl                    prints all as Markdown
"""

import csv
import json
import sys
from pathlib import Path

QUANTITIES = ("events", "segments", "reserved bytes", "peak of live bytes")


def load(path):
    return json.loads(Path(path).read_text())


def name_of(folder, context):
    return f"{folder}, context {context}"


def listed(published):
    for one in load(published)["snapshots"]:
        print(one["folder"], one["context"], one["words"], sep="\t")


def read(folder, context, torch, comparison):
    rows = list(csv.DictReader(Path(comparison).read_text().splitlines()))
    pairs = {name: [int(row["value"]) for row in rows if row["row"] == name and row["column"] in "AB"] for name in QUANTITIES}
    same = any(row["table"] == "The snapshots are equal" for row in rows)
    print(json.dumps({"snapshot": name_of(folder, context), "torch": torch, "same": same, "pairs": pairs}))


def cell(pair):
    theirs, mine = pair
    return f"{theirs:,}" if theirs == mine else f"{theirs:,}, ours {mine:,}"


def table(published, ours):
    known = load(published)
    found = {(row["snapshot"], row["torch"]): row for row in map(json.loads, Path(ours).read_text().splitlines())}
    print("### Snapshots of a real card, event by event\n")
    print("| snapshot | torch | " + " | ".join(QUANTITIES) + " | actions and sizes |")
    print("| --- | --- |" + " ---: |" * len(QUANTITIES) + " --- |")
    for one in known["snapshots"]:
        name = name_of(one["folder"], one["context"])
        for row in (found[key] for key in sorted(found) if key[0] == name):
            cells = [cell(row["pairs"][quantity]) for quantity in QUANTITIES]
            print("| " + " | ".join([name, row["torch"], *cells, "all the same" if row["same"] else "differ"]) + " |")
    print(f"\n{known['source']}")


def main(words):
    match words:
        case ["list", published]:
            listed(published)
        case ["read", folder, context, torch, comparison]:
            read(folder, context, torch, comparison)
        case ["table", published, ours]:
            table(published, ours)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
