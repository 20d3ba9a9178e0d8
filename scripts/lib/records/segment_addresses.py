"""Where the segments of one cell lie on a real card and on the virtual one, as one line.

usage: segment_addresses.py REAL.jsonl VIRTUAL.jsonl
Of the first cell that has a snapshot in both and no allocator settings. libtorch breaks ties between
free blocks by address, so what matters is the order; the rule for addresses is Note [Placement] in
virtual_gpu/device/memory/placement.h. A real process has more in its addresses than its segments, so
differences are told, not judged. Exit code 0.
"""

import json
import pickle
import sys

MEBI = 1 << 20
REGION_MIB = 32


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def cells(path):
    found = {}
    with open(path, encoding="utf-8") as file:
        for record in map(json.loads, filter(str.strip, file)):
            spec = record["spec"]
            if record["status"] == "ok" and spec.get("snapshot") and not spec.get("alloc_conf"):
                found[record["name"]] = spec["snapshot"]
    return found


def segments(path):
    """(MiB below the end of the highest, MiB) in the order of addresses, and the same of
    segment_alloc events in the order of time."""
    with open(path, "rb") as file:
        snapshot = PlainUnpickler(file).load()
    live = [(s["address"], s["total_size"]) for s in snapshot["segments"]]
    made = [(e["addr"], e["size"]) for trace in snapshot["device_traces"] for e in trace
            if e["action"] == "segment_alloc"]
    end = max((address + size for address, size in live + made), default=0)
    return tuple([((end - address) / MEBI, size / MEBI) for address, size in segments]
                 for segments in (sorted(live), made))


def equal(first, second):
    return sum(a == b for a, b in zip(first, second))


def first_difference(real, virtual):
    """Offsets count from the end of the highest segment: both lists from the highest down."""
    for number, (a, b) in enumerate(zip(real, virtual), 1):
        if a != b:
            return (f"; the first that differs is number {number} from the highest: "
                    f"{a[1]:g} MiB at -{a[0]:g} MiB and {b[1]:g} MiB at -{b[0]:g} MiB")
    return ""


def line(real_path, virtual_path):
    real, virtual = cells(real_path), cells(virtual_path)
    name = next((name for name in real if name in virtual), None)
    if name is None:
        return "Addresses of segments: no cell has a snapshot in both."
    try:
        (real_live, real_made), (virtual_live, virtual_made) = segments(real[name]), segments(virtual[name])
    except (OSError, KeyError, TypeError, pickle.UnpicklingError, EOFError) as error:
        return f"Addresses of segments of {name}: not readable ({error})."
    real_live, virtual_live = real_live[::-1], virtual_live[::-1]
    sizes = equal([s for _, s in real_live], [s for _, s in virtual_live])
    text = (f"Addresses of segments of {name}, real and virtual: {len(real_live)} and {len(virtual_live)} segments; "
            f"{sizes} have the same size in the order of addresses, {equal(real_live, virtual_live)} the same offset")
    if real_made or virtual_made:
        text += f"; {equal(real_made, virtual_made)} of {len(real_made)} and {len(virtual_made)} were made at the same"
    aligned = [sum((offset - live[0][0]) % REGION_MIB == 0 for offset, _ in live) for live in (real_live, virtual_live)]
    text += f"; {aligned[0]} and {aligned[1]} lie a multiple of {REGION_MIB} MiB below the highest"
    return text + first_difference(real_live, virtual_live) + "."


if __name__ == "__main__":
    print(line(*sys.argv[1:3]))
