"""Leaves of each Record's snapshot the file's name: its folder was temporary, and this machine's.

usage: bare_snapshots.py RECORDS.jsonl...   (rewritten in place)
Exit code 0.
"""

import json
import os
import sys


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file if line.strip()]
        for record in records:
            record["spec"]["snapshot"] = os.path.basename(record["spec"].get("snapshot", ""))
        written = path + ".new"
        with open(written, "w", encoding="utf-8") as file:
            for record in records:
                file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
        os.replace(written, path)


if __name__ == "__main__":
    main()
