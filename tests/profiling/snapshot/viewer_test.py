"""Opens snapshots written by make_snapshot as their readers do: Python's pickle and torch's own _memory_viz.py.

usage: snapshot_viewer_test.py MAKE_SNAPSHOT MEMORY_VIZ_PY
Needs nothing but the standard library; exits 77 (skipped) where this libtorch has no _memory_viz.py.
"""

import importlib.util
import json
import os
import pickle
import pickletools
import subprocess
import sys
import tempfile

SEGMENT_KEYS = {
    "device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream", "segment_type",
    "segment_pool_id", "is_expandable", "frames", "blocks",
}  # fmt: skip
BLOCK_KEYS = {"address", "size", "requested_size", "state", "frames"}
EVENT_KEYS = {"action", "addr", "size", "stream", "time_us", "compile_context", "user_metadata"}
SETTINGS_KEYS = {
    "PYTORCH_CUDA_ALLOC_CONF", "max_split_size", "garbage_collection_threshold", "expandable_segments",
    "pinned_num_register_threads", "release_lock_on_cudamalloc", "pinned_use_cuda_host_register",
    "graph_capture_record_stream_reuse", "roundup_power2_divisions",
}  # fmt: skip
# Opcodes of protocol 2 that MemoryViz.js reads.
OPCODES = {
    "PROTO", "MARK", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE",
    "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "BININT", "BININT1", "BININT2",
    "LONG1", "BINFLOAT", "BINUNICODE", "NEWTRUE", "NEWFALSE", "NONE", "STOP",
}  # fmt: skip


def equal(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"{what}: found {found!r}, wanted {wanted!r}")


def check_keys(snapshot):
    equal(set(snapshot), {"segments", "device_traces", "allocator_settings", "external_annotations"}, "top keys")
    for segment in snapshot["segments"]:
        equal(set(segment), SEGMENT_KEYS, "segment keys")
        equal(type(segment["segment_pool_id"]), tuple, "type of segment_pool_id")
        for block in segment["blocks"]:
            equal(set(block), BLOCK_KEYS, "block keys")
    for event in snapshot["device_traces"][0]:
        wanted = EVENT_KEYS - {"addr"} | {"device_free"} if event["action"] == "oom" else EVENT_KEYS
        equal(set(event) - {"frames"}, wanted, "event keys")
        equal(type(event["user_metadata"]), str, "type of user_metadata")
        for frame in event.get("frames", []):
            equal(set(frame), {"name", "filename", "line"}, "frame keys")
    labels = {event["user_metadata"] for event in snapshot["device_traces"][0]}
    equal(labels, {"", "activations", 'gradients: odd "name" \u00e9'}, "labels")
    settings = snapshot["allocator_settings"]
    equal(set(settings), SETTINGS_KEYS, "settings keys")
    equal(list(settings["roundup_power2_divisions"]), [str(1 << i) for i in range(16)], "divisions")
    for annotation in snapshot["external_annotations"]:
        equal(set(annotation), {"name", "stage", "device", "time_us"}, "annotation keys")


def peak_bytes(snapshot):
    """Highest live bytes as the viewer counts them: from alloc to free_completed."""
    before = {
        block["address"]: block["requested_size"]
        for segment in snapshot["segments"]
        for block in segment["blocks"]
        if block["state"] != "inactive"
    }
    end = sum(before.values())
    trace = snapshot["device_traces"][0]
    for event in reversed(trace):
        if event["action"] == "free_completed":
            before[event["addr"]] = event["size"]
        elif event["action"] == "alloc":
            del before[event["addr"]]
    live = peak = sum(before.values())
    for event in trace:
        live += {"alloc": event["size"], "free_completed": -event["size"]}.get(event["action"], 0)
        peak = max(peak, live)
    equal(live, end, "live bytes after the last event")
    return peak


def check_viewer(viz, snapshot, expected):
    summary = viz.segsum(snapshot)
    equal(f"segments: {expected['segments']}\n" in summary, True, "segsum names the segments")
    reserved = sum(segment["total_size"] for segment in snapshot["segments"])
    for flamegraph in (viz.memory, viz.segments):
        lines = flamegraph(snapshot, format_flamegraph=lambda text: text).splitlines()
        equal(sum(int(line.rsplit(" ", 1)[1]) for line in lines), reserved, "bytes of the flame graph")
    text = viz.trace(snapshot)
    equal(text.startswith(f"Device 0 ----------------\n{expected['events']} entries\n"), True, "trace header")
    equal("raise OutOfMemoryError # 80.0MiB requested" in text, True, "trace has the out-of-memory event")
    equal("$SNAPSHOT" in viz.trace_plot(snapshot), False, "trace_plot holds the snapshot")
    equal("Allocator State History" in viz.segment_plot(snapshot), True, "segment_plot")


def check_opcodes(data):
    """Only opcodes of the viewer, at most 1000 items a batch. Follows MARK depth, not values."""
    depth, marks, largest = 0, [], 0
    for opcode, argument, position in pickletools.genops(data):
        name = opcode.name
        equal(name in OPCODES, True, f"opcode {name} at byte {position} is one of the viewer's")
        if name == "PROTO":
            equal(argument, 2, "protocol")
        elif name == "MARK":
            marks.append(depth)
        elif name in ("APPENDS", "SETITEMS"):
            mark = marks.pop()
            largest = max(largest, depth - mark)
            depth = mark
        elif name in ("APPEND", "TUPLE2"):
            depth -= 1
        elif name in ("BINPUT", "LONG_BINPUT", "STOP"):
            pass
        else:
            depth += 1
    equal(largest, 1000, "items of the largest batch")


def check_sharing(snapshot):
    """Equal stacks are one object, or a big file would not fit in a browser."""
    seen = {}
    for event in snapshot["device_traces"][0]:
        if "frames" in event:
            key = tuple(tuple(sorted(frame.items())) for frame in event["frames"])
            equal(seen.setdefault(key, event["frames"]) is event["frames"], True, "a stack is shared")


def check_other_writers(make_snapshot, snapshot, expected, directory):
    """Our reader against what Python writes; the viewer reads protocols 2 to 4, so 5 is an error."""
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        path = os.path.join(directory, f"protocol{protocol}.pickle")
        with open(path, "wb") as file:
            pickle.dump(snapshot, file, protocol)
        found = json.loads(subprocess.check_output([make_snapshot, "--check", path]))
        equal(found, {**expected, "errors": protocol > 4}, f"protocol {protocol} as headroom reads it")


def main():
    make_snapshot, viz_path = sys.argv[1:]
    if not os.path.exists(viz_path):
        print(f"skipped: no {viz_path}")
        return 77
    spec = importlib.util.spec_from_file_location("memory_viz", viz_path)
    viz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(viz)
    with tempfile.TemporaryDirectory() as directory:
        for events in (5000, 300_000):
            path = os.path.join(directory, f"{events}.pickle")
            expected = json.loads(subprocess.check_output([make_snapshot, str(events), path]))
            with open(path, "rb") as file:
                data = file.read()
            snapshot = pickle.loads(data)
            equal(len(snapshot["device_traces"][0]), expected["events"], "events")
            equal(abs(expected["events"] - events) < 10, True, "asked number of events")
            equal(peak_bytes(snapshot), expected["peak_bytes"], "peak bytes")
            checked = json.loads(subprocess.check_output([make_snapshot, "--check", path]))
            equal(checked, {**expected, "errors": False}, "what headroom reads back")
            check_viewer(viz, snapshot, expected)
            if events == 5000:
                check_keys(snapshot)
                check_sharing(snapshot)
                check_opcodes(data)
                check_other_writers(make_snapshot, snapshot, expected, directory)
            print(f"{events} events: ok, {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
