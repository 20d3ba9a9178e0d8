#!/usr/bin/env python3
"""Runs one recipe and prints its peaks and a digest of its allocator events as one JSON line.

usage: recipe_peaks.py RECIPE ARGUMENTS...
It runs on a real card, and under `headroom dryrun`. Frees in a row are sorted before the digest: autocast
drops its casts in the order of host addresses.
"""

import hashlib
import json
import os
import runpy
import sys

import torch

ALLOCATED = "alloc"
FREED = "free_completed"


def ordered_events(trace):
    """(action, bytes) of each event; the frees between two other events are sorted by size."""
    events, frees = [], []
    for entry in trace:
        if entry["action"] == "free_requested":
            continue
        if entry["action"] == FREED:
            frees.append((FREED, entry["size"]))
            continue
        events += sorted(frees)
        frees = []
        events.append((entry["action"], entry["size"]))
    return events + sorted(frees)


def digest(events):
    return hashlib.sha256(repr(events).encode()).hexdigest()[:16]


def status_of(recipe):
    try:
        runpy.run_path(recipe, run_name="__main__")
    except torch.OutOfMemoryError as error:
        wanted = str(error).split("Tried to allocate ")[1].split(". ")[0]
        return f"out of memory, {wanted} wanted"
    return "ok"


def main():
    recipe, *arguments = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(recipe)))
    sys.argv = [recipe, *arguments]
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(context=None, max_entries=2_000_000)
    status = status_of(recipe)
    stats = torch.cuda.memory_stats()
    events = ordered_events(torch.cuda.memory._snapshot()["device_traces"][0])
    free, total = torch.cuda.mem_get_info()
    print(json.dumps({
        "status": status, "allocated": stats["allocated_bytes.all.peak"], "reserved": stats["reserved_bytes.all.peak"],
        "requested": stats["requested_bytes.all.peak"], "segments": stats["segment.all.peak"],
        "allocations": sum(action == ALLOCATED for action, _ in events), "events": len(events), "digest": digest(events),
        "outside_torch": total - free - torch.cuda.memory_reserved(), "card": torch.cuda.get_device_name()}))


if __name__ == "__main__":
    main()
