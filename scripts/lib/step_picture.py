"""Draws the recorded step of a run from its snapshot, as SVG.

usage: step_picture.py RECORD.json SNAPSHOT.pickle >PICTURE.svg

What a block is for is read from when it lives, and nothing is drawn unless the sums at the peak are
the Record's own, to the byte. Needs a training step with the reference optimizer, which replaces
its moments.
Exit codes: 0 drawn, 3 the snapshot does not give the Record's categories.
"""

import json
import pickle
import sys
from html import escape

GIB = 1 << 30
# Before the first named one, the gradients of the last step go.
PHASES = ("", "forward", "loss", "backward", "optimizer")
# Name, the Record's categories, colour (of the palette of Okabe and Ito); from the bottom up.
LAYERS = (
    ("parameters, workspaces", ("parameters", "workspaces", "other"), "#0072b2"),
    ("optimizer state", ("optimizer_state",), "#56b4e9"),
    ("activations", ("activations",), "#e69f00"),
    ("gradients", ("gradients",), "#cc79a7"),
    ("temporaries", ("temporaries",), "#999999"),
)
PARAMETERS, OPTIMIZER, ACTIVATIONS, GRADIENTS, TEMPORARIES = range(len(LAYERS))
# Pixels. Every phase has its own scale: an optimizer that is written out makes more events than all
# the rest together, and the loss hardly any.
WIDTHS = {"": 40, "forward": 240, "loss": 30, "backward": 280, "optimizer": 140}
COLUMN = 2  # of so many pixels, drawn at its fullest event
LEFT, TOP, HEIGHT, RIGHT, BOTTOM = 64, 40, 260, 16, 56
TICK_GIB = 20


def phase_bounds(snapshot, events):
    """The number of events at the end of each phase. The last phase takes the rest."""
    times = [event["time_us"] for event in events]
    stamps = {(a["name"], a["stage"]): a["time_us"] for a in snapshot["external_annotations"]}
    keys = [("forward", "START"), *((name, "END") for name in PHASES[1:-1])]
    return [sum(time <= stamps[key] for time in times) for key in keys] + [len(events)]


def lifetimes(snapshot, events):
    """(bytes, event it begins with, event it ends with); -1 and len(events) lie outside."""
    born, found = {}, []
    for index, event in enumerate(events):
        if event["action"] == "alloc":
            born[event["addr"]] = (event["size"], index)
        elif event["action"] == "free_completed":
            size, begin = born.pop(event["addr"], (event["size"], -1))
            found.append((size, begin, index))
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                size, begin = born.pop(block["address"], (block["requested_size"], -1))
                found.append((size, begin, len(events)))
    return found


def layer_of(begin, end, bounds):
    start, _, loss, backward, last = bounds
    if begin < start and (end == last or begin >= 0):
        return PARAMETERS  # or a batch, "other"
    if begin == -1:
        return GRADIENTS if end < start else OPTIMIZER  # of the last step; moments to replace
    if begin < loss:
        return ACTIVATIONS if end >= loss else TEMPORARIES
    if end < last:
        return TEMPORARIES
    return GRADIENTS if begin < backward else OPTIMIZER


def books(lives, bounds):
    """Bytes of every layer after each event."""
    changes = [[0] * len(LAYERS) for _ in range(bounds[-1] + 1)]
    for size, begin, end in lives:
        layer = layer_of(begin, end, bounds)
        changes[max(begin, 0)][layer] += size
        changes[end][layer] -= size
    now, result = [0] * len(LAYERS), []
    for change in changes[:-1]:
        now = [a + b for a, b in zip(now, change)]
        result.append(now)
    return result


def check(record, fullest):
    theirs = record["categories_at_peak_bytes"]
    for (name, categories, _), ours in zip(LAYERS, fullest):
        wanted = sum(theirs[category] for category in categories)
        if ours != wanted:
            print(f"{name}: {ours} bytes by lifetimes, {wanted} in the Record", file=sys.stderr)
            sys.exit(3)


def columns(states, bounds):
    """(x, bytes of every layer) of every column."""
    x, begin, result = LEFT, 0, []
    for name, end in zip(PHASES, bounds):
        count = WIDTHS[name] // COLUMN
        for column in range(count):
            first = begin + (end - begin) * column // count
            beyond = max(first + 1, begin + (end - begin) * (column + 1) // count)
            result.append((x, max(states[first:beyond], key=sum)))
            x += COLUMN
        begin = end
    return result


def text(x, y, words, anchor="middle"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1, y1, x2, y2, opacity):
    ends = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
    return f'<line {ends} stroke="#000" stroke-opacity="{opacity}"/>'


def without_middles(points):
    """Of a level stretch only its ends."""
    inner = zip(points, points[1:], points[2:], strict=False)
    return [points[0], *(b for a, b, c in inner if not a[1] == b[1] == c[1]), points[-1]]


def areas(shown, y_of):
    """One path a layer, along its top and back along its bottom."""
    for layer, (name, _, colour) in enumerate(LAYERS):
        edges = []
        for upper in (True, False):
            points = []
            for x, sizes in shown:
                y = y_of(sum(sizes[: layer + upper]))
                points += [(x, y), (x + COLUMN, y)]
            kept = without_middles(points)
            edges += kept if upper else reversed(kept)
        path = " ".join(f"{x},{y}" for x, y in edges)
        yield f'<polygon points="{path}" fill="{colour}"><title>{name}</title></polygon>'


def axes(y_of, top):
    right = LEFT + sum(WIDTHS.values())
    for gib in range(0, int(top / GIB) + 1, TICK_GIB):
        y = y_of(gib * GIB)
        yield line(LEFT, y, right, y, opacity=0.2)
        yield text(LEFT - 6, y + 4, f"{gib} GiB", "end")
    x = LEFT
    for name in PHASES:
        yield line(x, TOP, x, TOP + HEIGHT, opacity=0.5)
        yield text(x + WIDTHS[name] // 2, TOP + HEIGHT + 18, name)
        x += WIDTHS[name]
    x = LEFT
    for name, _, colour in LAYERS:
        y = TOP + HEIGHT + 33
        yield f'<rect x="{x}" y="{y}" width="11" height="11" fill="{colour}"/>'
        yield text(x + 16, y + 10, name, "start")
        x += 40 + 7 * len(name)


def picture(record, states, bounds):
    fullest = max(states, key=sum)
    check(record, fullest)
    top = sum(fullest) * 1.05
    width, height = LEFT + sum(WIDTHS.values()) + RIGHT, TOP + HEIGHT + BOTTOM

    def y_of(size):
        return TOP + HEIGHT - round(HEIGHT * size / top)

    spec = record["spec"]
    title = (f"A step of {record['name']} on {spec['device']}, batch {spec['batch_size']}: "
             f"{sum(fullest) / GIB:.3f} GiB requested at the peak, in {record['peak_phase']}")
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'width="{width}" height="{height}" font-family="sans-serif" font-size="13" role="img">')
    yield f"<title>{escape(title)}</title>"
    yield f'<rect width="{width}" height="{height}" fill="#fff"/>'
    yield text(LEFT, 24, title, "start")
    yield from areas(columns(states, bounds), y_of)
    yield from axes(y_of, top)
    yield "</svg>"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        record = json.load(file)
    with open(sys.argv[2], "rb") as file:
        snapshot = pickle.load(file)
    events = next(trace for trace in snapshot["device_traces"] if trace)
    bounds = phase_bounds(snapshot, events)
    print("\n".join(picture(record, books(lifetimes(snapshot, events), bounds), bounds)))


main()
