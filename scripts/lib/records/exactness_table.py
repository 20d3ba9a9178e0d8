"""Holds the Records of a real card against those of the virtual one, cell by cell, as Markdown.

usage: exactness_table.py HEADROOM REAL.jsonl VIRTUAL.jsonl
Segments and events are compared while the snapshots of both runs are there. Without them the Records say
how many events there were.
Exit codes: 0 not a byte of difference, 3 some cells differ, failed or are missing.
"""

import json
import subprocess
import sys
from pathlib import Path

PEAKS = ("allocated", "reserved", "requested")


def read_records(path):
    """In order of appearance, by name: every setting that is not the default, but for the device."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in filter(str.strip, file):
            record = json.loads(line)
            found[record["name"]] = record
    return found


def phase_differences(real, virtual):
    """The largest difference in bytes over all phases and the whole, for each kind of peak."""
    pairs = [(real, virtual, "peak_{}_bytes")]
    for name, phase in real["phases"].items():
        pairs.append((phase, virtual["phases"].get(name, {}), "{}_bytes"))
    return [max((abs(b.get(key.format(kind), 0) - a[key.format(kind)]), b.get(key.format(kind), 0) - a[key.format(kind)])
                for a, b, key in pairs)[1] for kind in PEAKS]


def has_snapshots(*records):
    return all(Path(record["spec"]["snapshot"]).is_file() for record in records)


def number_of_events(real, virtual):
    """The cells for segments and events of Records alone, and whether they agree."""
    counts = [record["trace_events"] for record in (real, virtual)]
    if counts[0] == counts[1]:
        return ["not kept", f"{counts[0]} in both"], True
    return ["not kept", f"{counts[0]} and {counts[1]}"], False


def events(headroom, real, virtual):
    """The same by `snapshot diff`, which compares the sequences too; its exit code is the verdict."""
    if not has_snapshots(real, virtual):
        return number_of_events(real, virtual)
    command = [headroom, "snapshot", "diff", real["spec"]["snapshot"], virtual["spec"]["snapshot"], "--format", "json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode not in (0, 3) or not answer.stdout:
        return ["-", answer.stderr.strip() or "no snapshot"], False
    table = json.loads(answer.stdout)
    rows = {row["quantity"]: row for row in table["rows"]}
    segments, sequences = str(rows["segments"]["B - A"]), table["notes"][0]
    return [segments, f"{rows['events']['A']} events. {sequences}"], answer.returncode == 0


def compare(headroom, real, virtual):
    """The cells of one row, and whether everything is equal."""
    if virtual is None:
        return [real["name"], real["status"], "missing"] + ["-"] * 5, False
    row = [real["name"], real["status"], virtual["status"]]
    if real["status"] != "ok" or virtual["status"] != "ok":
        return row + ["-"] * 5, real["status"] == virtual["status"] == "oom"
    differences = phase_differences(real, virtual)
    said, same = events(headroom, real, virtual)
    return row + [*map(str, differences), *said], same and not any(differences)


def main():
    headroom, real_path, virtual_path = sys.argv[1:4]
    real, virtual = read_records(real_path), read_records(virtual_path)
    rows = [compare(headroom, record, virtual.get(key)) for key, record in real.items()]
    head = ["cell", "real", "virtual", "allocated", "reserved", "requested", "segments", "allocator events"]
    print("### Real and virtual, in bytes of difference\n")
    print("| " + " | ".join(head) + " |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | --- |")
    for row, _ in rows:
        print("| " + " | ".join(row) + " |")
    equal = sum(same for _, same in rows)
    kept = not any(row[6] == "not kept" for row, _ in rows)
    compared = ", segment and event" if kept else ", with as many allocator events"
    print(f"\n{equal} of {len(rows)} cells are equal to the byte in every phase{compared}.")
    devices = [next(iter(records.values()))["environment"].get("device_name", "?") if records else "none"
               for records in (real, virtual)]
    print(f"\nReal: {devices[0]}. Virtual: {devices[1]}.")
    return 0 if rows and equal == len(rows) else 3


if __name__ == "__main__":
    sys.exit(main())
