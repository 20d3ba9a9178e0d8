#!/usr/bin/env python3
"""Holds the recipes of a real card against those of the virtual one, as Markdown.

usage: table.py REAL.jsonl VIRTUAL.jsonl       both of measure.py
"""

import json
import sys

PEAKS = ("allocated", "reserved", "requested")


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return {row["case"]: row for row in map(json.loads, file)}


def events_of(real, virtual):
    if real["digest"] == virtual["digest"]:
        return f"the same {real['events']:,}"
    return f"{real['events']:,} and {virtual['events']:,}"


def main():
    real, virtual = map(rows_of, sys.argv[1:3])
    equal = 0
    print("| recipe and flags | real | virtual | peak allocated, bytes | reserved, bytes | difference | allocator events |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- |")
    for case, a in real.items():
        b = virtual[case]
        differences = [b[peak] - a[peak] for peak in PEAKS]
        equal += not any(differences) and a["digest"] == b["digest"] and a["status"] == b["status"]
        largest = max(differences, key=abs)
        print(f"| {case} | {a['status']} | {b['status']} | {a['allocated']:,} | {a['reserved']:,} | {largest:,} | {events_of(a, b)} |")
    print(f"\n{equal} of {len(real)} programs are equal: every peak to the byte, and every allocator event.")
    print(f"\nReal: {next(iter(real.values()))['card']}. Outside torch: {outside(real)} there, {outside(virtual)} on the virtual card.")


def outside(rows):
    sizes = sorted({round(row["outside_torch"] / 2**20) for row in rows.values()})
    return f"{sizes[0]} to {sizes[-1]} MiB" if len(sizes) > 1 else f"{sizes[0]} MiB"


if __name__ == "__main__":
    main()
