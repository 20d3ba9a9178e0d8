"""Published peaks of distributed runs beside ours, as Markdown.

usage: distributed_table.py PUBLISHED.json OURS.json

A case was published of several software environments, which differ among themselves; a row takes those of
one kind of card, and compares the nearest two of theirs and our runs.
"""

import json
import sys

PLATFORMS = {"a100": "A100", "h100": "H100"}  # in a golden file's name, and for people
MIB = 1024 * 1024


def is_of(environment, card):
    """The card's name is a100-80gb, the environment's dev_dgx_a100 or lts_dgxa100_dracooci."""
    return card.split("-")[0] in environment.replace("dgx", "")


def nearest(files, name, ours):
    return min((file[name] for file in files), key=lambda value: abs(value - ours))


def span(files, name):
    values = [file[name] for file in files]
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def difference(ours, published):
    if ours == published:
        return "equal"
    return f"{ours - published:+,} ({100 * (ours - published) / published:+.3f} %)"


def rows_of(published, ours):
    files_of = {case["case"]: case["files"] for case in published["cases"]}
    runs_of = {}
    for run in ours["runs"]:
        runs_of.setdefault((run["case"], run["card"]), []).append(run)
    for (case, card), runs in runs_of.items():
        files = [file for file in files_of.get(case, ()) if is_of(file["environment"], card)]
        if files:
            yield runs, files


def closest(files, runs, name):
    """Of each pair of a published figure and ours the two that differ least."""
    pairs = [(run[name], nearest(files, name, run[name])) for run in runs]
    return min(pairs, key=lambda pair: abs(pair[0] - pair[1]))


def row(runs, files):
    cells = [runs[0]["case"].split("/")[1], PLATFORMS[runs[0]["card"].split("-")[0]], str(len(files))]
    for name in ("peak", "allocated"):
        cells += [span(files, name), span(runs, name), difference(*closest(files, runs, name))]
    return [*cells, runs[0]["apex"]]


def sentence(rows):
    """The number of peaks in each place, after the first and the last step."""
    counts = {"are equal to the byte": 0, "lie between two published ones, or 512 B off": 0, "differ by more": 0}
    words, most = list(counts), 0.0
    for runs, files in rows:
        for name in ("first_peak", "peak"):
            values = [file[name] for file in files]
            value, published = closest(files, runs, name)
            off = value - published
            if off == 0:
                counts[words[0]] += 1
            elif min(values) < value < max(values) or abs(off) <= 512:
                counts[words[1]] += 1
            else:
                counts[words[2]] += 1
                most = max(most, abs(off) / MIB)
    parts = [f"{count} {word}" for word, count in counts.items() if count]
    text = f"Of {2 * len(rows)} peaks, after the first step and at the end, {', '.join(parts)}"
    return text + (f" (at most {most:.2f} MiB)." if most else ".")


def main(paths):
    if len(paths) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    documents = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            documents.append(json.load(file))
    published, ours = documents
    rows = list(rows_of(published, ours))
    print("### Megatron-LM's golden files: the last of 8 ranks\n")
    print("| case | card | files | published peak, B | ours | difference | published at the end, B | ours | difference | Apex |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for runs, files in rows:
        print("| " + " | ".join(row(runs, files)) + " |")
    print(f"\n{sentence(rows)}")
    for line in (published["source"], *published.get("causes", ())):
        print(f"\n{line}")
    print(f"\nOurs: {ours['command']}; {ours['versions']}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
