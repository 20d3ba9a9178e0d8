"""How many cells are still to run, each counted once, as one number.

usage: cells_left.py RECORDS.jsonl FIELD... <CELLS.jsonl
CELLS: what is asked for, as `headroom sweep --dry-run --format jsonl` prints it; a cell may come
twice. Two are one cell where all FIELDs of their "spec" are the same. Answered is what has a
Record of status ok or oom; lines of RECORDS that cannot be read answer nothing. Exit code 0.
"""

import json
import os
import sys


def key(line, fields):
    spec = json.loads(line)["spec"]
    return tuple(str(spec.get(name)) for name in fields)


def answered_cells(path, fields):
    answered = set()
    if not os.path.exists(path):
        return answered
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                if json.loads(line)["status"] in ("ok", "oom"):
                    answered.add(key(line, fields))
            except (ValueError, KeyError, TypeError):
                pass
    return answered


def main():
    path, *fields = sys.argv[1:]
    planned = {key(line, fields) for line in filter(str.strip, sys.stdin)}
    print(len(planned - answered_cells(path, fields)))


if __name__ == "__main__":
    main()
