"""Failures in Records, one line per cell; running out of memory is an answer.

usage: other_failures.py <RECORDS.jsonl
Exit code 0.
"""

import json
import sys


def main():
    for line in filter(str.strip, sys.stdin):
        record = json.loads(line)
        if record["status"] not in ("ok", "oom"):
            print(f"{record['name']} ({record['status']}: {record.get('reason', '')})")


if __name__ == "__main__":
    main()
