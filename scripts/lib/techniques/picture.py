"""Draws peak memory against time of the memory techniques, as SVG, from the Records of run.py.

usage: picture.py RECORDS.jsonl >PICTURE.svg
"""

import os
import statistics
import sys
from html import escape

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import BASE, CASES, SINGLE  # noqa: E402
from table import GIB, Rows  # noqa: E402

LEFT, TOP, WIDTH, HEIGHT, RIGHT, BOTTOM = 64, 40, 620, 420, 260, 56
ALONE, TOGETHER = "#0072b2", "#d55e00"  # of the palette of Okabe and Ito


def points(rows):
    """(case, time of its step over the plain step's, peak in GiB)."""
    for case in CASES:
        record, ratios = rows.memory.get(case.name), rows.ratios(rows.times, case.name, BASE)
        if record and record["status"] == "ok" and ratios:
            yield case, statistics.median(ratios), record["peak_allocated_bytes"] / GIB


def text(x, y, words, anchor="middle", colour="#000"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def ticks(most, step):
    value = 0.0
    while value <= most:
        yield value
        value += step


def draw(found):
    fastest = min(ratio for _, ratio, _ in found)
    slowest = max(ratio for _, ratio, _ in found)
    most = max(peak for _, _, peak in found)
    low, high = min(0.9, fastest) - 0.05, slowest + 0.1
    tall = 10 * (int(most / 10) + 1)

    def x(ratio):
        return LEFT + WIDTH * (ratio - low) / (high - low)

    def y(peak):
        return TOP + HEIGHT * (1 - peak / tall)

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {TOP + HEIGHT + BOTTOM}" '
           'font-family="sans-serif" font-size="11">')
    yield '<rect width="100%" height="100%" fill="#fff"/>'
    yield text(LEFT, 20, "Memory techniques: peak of a step and its time", "start")
    for peak in ticks(tall, 10):
        yield f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(peak):.1f}" y2="{y(peak):.1f}" stroke="#ddd"/>'
        yield text(LEFT - 6, y(peak) + 4, f"{peak:.0f}", "end")
    step = 0.25 if high - low < 2 else 0.5
    for ratio in ticks(high, step):
        if ratio < low:
            continue
        yield f'<line x1="{x(ratio):.1f}" x2="{x(ratio):.1f}" y1="{TOP}" y2="{TOP + HEIGHT}" stroke="#ddd"/>'
        yield text(x(ratio), TOP + HEIGHT + 16, f"{ratio:.2f}")
    yield text(LEFT + WIDTH / 2, TOP + HEIGHT + 40, "step time over the plain step's, on the CPU")
    yield text(LEFT, TOP - 6, "peak allocated, GiB", "start")
    alone = {case.name for case in SINGLE}
    for number, (case, ratio, peak) in enumerate(found, start=1):
        colour = ALONE if case.name in alone else TOGETHER
        yield f'<circle cx="{x(ratio):.1f}" cy="{y(peak):.1f}" r="4" fill="{colour}"/>'
        yield text(x(ratio) + 6, y(peak) + 4, str(number), "start")
        yield text(LEFT + WIDTH + 12, TOP + 14 * number, f"{number}  {case.name}", "start", colour)
    yield "</svg>"


def main():
    rows = Rows(sys.argv[1])
    found = list(points(rows))
    if not found:
        sys.exit("no technique has both a peak and a time")
    print("\n".join(draw(found)))


if __name__ == "__main__":
    main()
