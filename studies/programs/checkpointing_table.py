"""The memory that a third party's program logged, on a real card and on a virtual one.

usage: checkpointing_table.py read LOG                      prints its cells as JSON
       checkpointing_table.py table PUBLISHED.json OURS.json   prints both as Markdown
"""

import json
import re
import sys

BEGIN = re.compile(r"model_size=([^,]*),.*transformer_cls=(\w+)")
STATS = re.compile(r"Memory usage: base=MemoryStats\((.*?)\), peak=MemoryStats\((.*?)\)")
FORMS = {
    "Transformer": "none",
    "AttnCheckpointedTransformer": "attention",
    "FFNCheckpointedTransformer": "feed-forward",
    "BlockwiseCheckpointedTransformer": "block",
}
# In the order of the log: before the step, then after it with the peaks since.
FIGURES = (
    "before",
    "before_reserved",
    "before_peak",
    "before_peak_reserved",
    "after",
    "after_reserved",
    "peak",
    "peak_reserved",
)


def read(path):
    cells, key = [], None
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            if begin := BEGIN.search(line):
                key = {"model": begin[1], "checkpoint": FORMS[begin[2]]}
            elif "OOM?" in line:
                cells.append({**key, "status": "oom"})
            elif stats := STATS.search(line):
                numbers = map(int, re.findall(r"=(\d+)", stats[1] + stats[2]))
                cells.append({**key, "status": "ok", **dict(zip(FIGURES, numbers, strict=True))})
    return cells


def key_of(cell):
    return cell["model"], cell["checkpoint"]


def difference(published, ours):
    return f"{ours - published:+,}" if ours != published else "equal"


def table(published, ours):
    found = {key_of(cell): cell for cell in ours}
    rows, equal, figures, refused = [], 0, 0, 0
    for cell in published["cells"]:
        our = found.get(key_of(cell), {"status": "not run"})
        if cell["status"] == "oom" or our["status"] != "ok":
            refused += cell["status"] == our["status"] == "oom"
            if cell["status"] != our["status"]:
                rows.append((*key_of(cell), cell["status"], our["status"], "", "", ""))
            continue
        same = sum(cell[name] == our[name] for name in FIGURES)
        equal, figures = equal + same, figures + len(FIGURES)
        of_two = [(f"{cell[name]:,}", difference(cell[name], our[name])) for name in ("peak", "peak_reserved")]
        rows.append((*key_of(cell), *of_two[0], *of_two[1], f"{same} of {len(FIGURES)}"))
    oom = sum(cell["status"] == "oom" for cell in published["cells"])
    return rows, f"{equal} of {figures} figures are equal to the byte; of {oom} cells that ran out of memory there {refused} did here."


def print_table(published, ours):
    rows, sentence = table(published, ours["cells"])
    print(f"### A stranger's {len(published['cells'])} cells in one process, on a full card\n")
    print("| model | checkpoint | published peak, B | ours | published reserved, B | ours | figures equal |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(f"\n{sentence}")
    for line in (published["source"], published["room"], *published.get("causes", ())):
        print(f"\n{line}")
    print(f"\nOurs: {ours['command']}; {ours['versions']}.")


def main(arguments):
    if arguments[:1] == ["read"] and len(arguments) == 2:
        json.dump(read(arguments[1]), sys.stdout, indent=1)
        print()
        return 0
    if arguments[:1] == ["table"] and len(arguments) == 3:
        documents = []
        for path in arguments[1:]:
            with open(path, encoding="utf-8") as file:
                documents.append(json.load(file))
        print_table(*documents)
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
