"""Snapshots of no program: one of any length, one with names that a page must not run."""

import random

MIB = 1 << 20
BASE = 0x7F0000000000
HOSTILE = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 1'>\"'\n&amp;"


def event(action, address, size, time, frames, **more):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time, "frames": frames, **more}


def snapshot_of(events, live, segment_bytes, frames):
    """live: {address: (size, frames)} at the end, each within its own MiB of the only segment."""
    blocks = []
    end = BASE
    for address, (size, stack) in sorted(live.items()):
        if address > end:
            blocks.append({"address": end, "size": address - end, "requested_size": 0, "state": "inactive"})
        blocks.append({"address": address, "size": size, "requested_size": size, "state": "active_allocated",
                       "frames": stack})
        end = address + size
    if end < BASE + segment_bytes:
        blocks.append({"address": end, "size": BASE + segment_bytes - end, "requested_size": 0, "state": "inactive"})
    segment = {"device": 0, "address": BASE, "total_size": segment_bytes, "allocated_size": 0, "active_size": 0,
               "requested_size": 0, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
               "is_expandable": False, "frames": frames, "blocks": blocks}
    return {"segments": [segment], "device_traces": [events], "external_annotations": [],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": ""}}


def long_snapshot(count):
    """A snapshot of `count` events with 3,000 stacks, as a training loop of another program makes them."""
    chance = random.Random(1)
    frames = [{"name": f"function_{i}", "filename": f"/src/model/file_{i % 40}.py", "line": i} for i in range(400)]
    stacks = [[frames[chance.randrange(400)] for _ in range(chance.randrange(5, 20))] for _ in range(3000)]
    sizes = [512 * (1 + chance.randrange(2000)) for _ in range(360)]
    events = [event("segment_alloc", BASE, 4000 * MIB, 1_700_000_000_000_000, stacks[0])]
    live, order, unused = {}, [], list(range(4000))
    time = events[0]["time_us"]
    while len(events) < count:
        time += chance.randrange(1, 30)
        grows = len(order) < 100 or chance.random() < (0.65 if len(events) // 4000 % 2 else 0.35)
        if order and (not unused or not grows) and len(events) + 2 <= count:
            address = order.pop(-1 - min(len(order) - 1, int(chance.expovariate(0.05))))
            size, stack = live.pop(address)
            unused.append((address - BASE) // MIB)
            events += [event(action, address, size, time, stack) for action in ("free_requested", "free_completed")]
        elif unused:
            address = BASE + unused.pop() * MIB
            number = chance.randrange(3000)
            live[address] = (sizes[number * 7 % 360], stacks[number])
            order.append(address)
            events.append(event("alloc", address, live[address][0], time, live[address][1]))
        else:
            events.append(event("snapshot", 0, 0, time, []))
    return snapshot_of(events, live, 4000 * MIB, stacks[0])


def hostile_snapshot():
    """Names with markup in every place, ten megabytes of stack text, and an allocation that failed."""
    evil = {"name": HOSTILE, "filename": HOSTILE, "line": 3}
    long = {"name": "x" * 10_000_000, "filename": "/src/long.py", "line": 4}
    events = [event("segment_alloc", BASE, 8 * MIB, 1_700_000_000_000_000, [evil]),
              event("alloc", BASE, MIB, 1_700_000_000_000_005, [evil], user_metadata=HOSTILE),
              event("alloc", BASE + MIB, 512, 1_700_000_000_000_006, [long, evil]),
              {**event("oom", 0, 1 << 30, 1_700_000_000_000_007, [evil]), "device_free": 5}]
    live = {BASE: (MIB, [evil]), BASE + MIB: (512, [long, evil])}
    snapshot = snapshot_of(events, live, 8 * MIB, [evil])
    snapshot["external_annotations"] = [
        {"name": HOSTILE, "stage": "START", "device": 0, "time_us": 1_700_000_000_000_001}]
    snapshot["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = HOSTILE
    return snapshot
