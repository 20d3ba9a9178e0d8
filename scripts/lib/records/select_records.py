"""The last Record of each cell of a grid, in grid order, with the grid's own keys before it.

usage: select_records.py CONTEXTS MODES PRECISIONS <RECORDS.jsonl
Prints lines "context mode precision status name snapshot JSON" separated by \\x1f, which unlike a
tab keeps empty fields apart. A cell without a Record has the status "missing". Exit code 0.
"""

import itertools
import json
import sys


def main():
    found = {}
    for line in filter(str.strip, sys.stdin):
        record = json.loads(line)
        spec = record["spec"]
        cell = (str(spec["context_length"]), spec["profile_type"], spec["precision"])
        status = record["status"]
        if status != "ok":
            status += ": " + record.get("reason", "").replace("\n", " ")
        found[cell] = (status, record["name"], spec.get("snapshot", ""), line.strip())
    for cell in itertools.product(*(word.split(",") for word in sys.argv[1:])):
        print(*cell, *found.get(cell, ("missing", "_".join(cell), "", "")), sep="\x1f")


if __name__ == "__main__":
    main()
