"""Written-out attention beside the flash kernel, from Records of scripts/profile_attention.sh.

usage: attention_table.py HEADROOM context|layer RECORDS.jsonl --format text|md|csv
context: one row a context; layer: the layer that the memory guide speaks of. In CSV, bytes are
plain numbers. HEADROOM is asked for theory's rows of attention.
"""

import csv
import json
import math
import subprocess
import sys

GUIDE = {"eager": "8 GB", "flash": "about 100 MB", "efficient": "about 100 MB"}
NOTE = {
    "context": (
        "Forward, loss and backward, BF16 autocast. Kept: what one block leaves alive for "
        "backward, measured; where memory ran out, theory's. Grows: power of the context by "
        "which it grows from the row above."
    ),
    "layer": (
        "The guide counts one FP32 matrix of 8,192 x 8,192 for each of 32 heads: 8 GiB. Written "
        "out, softmax keeps two for backward, the exponentials and their quotient (half as wide "
        "in BF16), and a mask. Flash and the memory-efficient kernel keep no matrix but q, k, v, "
        "the output and one FP32 number per head and token: tensors as wide as the model, each "
        "64 MiB in BF16 here and 128 MiB in FP32, so that the guide's 100 MB is less than they "
        "are. Kept is the whole block's, feed-forward and norms included; attention's own is "
        "theory's rows of model/attention.cpp."
    ),
}


def shown(size):
    """Bytes in GiB or MiB, as headroom prints them."""
    if size is None:
        return "n/a"
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3f} {name}"
    return f"{size} B"


def plain(size):
    return "" if size is None else str(size)


def theory(record):
    return record["predicted"].get("residual_bytes_per_block")


def measured(record):
    return record.get("residual_bytes_per_block")


def kept(record):
    return theory(record) if measured(record) is None else measured(record)


def peak(record, show):
    if record["status"] == "ok":
        return show(record["peak_allocated_bytes"])
    return "out of memory" if record["status"] == "oom" else record["status"]


def attention_bytes(headroom, record):
    """The sum of theory's rows of attention alone in one block."""
    spec = record["spec"]
    command = [headroom, "theory", "--model-size", spec["model_size"], "--batch-size", "1"]
    for name in ("context_length", "profile_type", "precision", "attention", "device", "layers"):
        if spec.get(name):
            command += ["--" + name.replace("_", "-"), str(spec[name])]
    done = subprocess.run(
        [*command, "--format", "json"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return None  # the kernel does not run there
    blocks = [table for table in json.loads(done.stdout) if "block" in table["title"]]
    return sum(
        row["size_bytes"]
        for row in blocks[0]["rows"]
        if row["source"].startswith("model/attention.cpp")
    )


def growth(before, record):
    """The power of the context with which what is kept grows, between two Records."""
    if before is None or not kept(before) or not kept(record):
        return ""
    contexts = record["spec"]["context_length"] / before["spec"]["context_length"]
    power = math.log(kept(record) / kept(before)) / math.log(contexts)
    return f"S^{power:.2f}"


def context_table(_, records, show):
    rows = {}
    for record in records:
        rows.setdefault(record["spec"]["context_length"], {})[record["spec"]["attention"]] = record
    columns = ["context"]
    for word in ("eager", "flash"):
        columns += [f"{word}: peak", f"{word}: kept per block", "grows"]
    yield columns + ["eager / flash"]
    before = {}
    for context in sorted(rows):
        row = rows[context]
        if not {"eager", "flash"} <= set(row):
            continue
        line = [str(context)]
        for word in ("eager", "flash"):
            theirs = show(kept(row[word]))
            if measured(row[word]) is None and show is shown:
                theirs += " (theory)"
            line += [peak(row[word], show), theirs, growth(before.get(word), row[word])]
        sizes = [kept(row[word]) for word in ("eager", "flash")]
        yield line + [f"{sizes[0] / sizes[1]:.1f}" if all(sizes) else "n/a"]
        before = row


def layer_table(headroom, records, show):
    yield [
        "attention",
        "precision",
        "status",
        "kept per block",
        "measured - theory",
        "attention's own",
        "the guide says",
    ]
    for record in records:
        spec = record["spec"]
        both = measured(record) is not None and theory(record) is not None
        yield [
            spec["attention"],
            spec["precision"],
            record["status"],
            show(measured(record)),
            str(measured(record) - theory(record)) if both else "n/a",
            show(attention_bytes(headroom, record)),
            GUIDE[spec["attention"]],
        ]


TABLES = {
    "context": ("forward-backward", context_table, "Attention written out, and by flash"),
    "layer": ("forward-grad", layer_table, "The guide's layer: 32 heads, 8,192 tokens"),
}


def print_table(which, title, table, style):
    columns, *rows = table
    if style == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows(table)
        return
    if style == "md":
        print(f"### {title}\n")
        lines = [columns, ["---:"] * len(columns), *rows]
        print("\n".join("| " + " | ".join(line) + " |" for line in lines))
    else:
        print(f"{title}\n")
        widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
        for line in table:
            print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
    print(f"\n{NOTE[which]}\n\n1 GiB = 1024 MiB = 1024^3 bytes.")


def main():
    headroom, which, path, style = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[5]
    mode, make, title = TABLES[which]
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in filter(str.strip, file)]
    records = [record for record in records if record["spec"]["profile_type"] == mode]
    if records:
        spec = records[0]["spec"]
        title += f": {spec['model_size']}, batch {spec['batch_size']}, {spec['device']}"
    table = list(make(headroom, records, plain if style == "csv" else shown))
    print_table(which, title, table, style)
    return 0 if len(table) > 1 else 3


if __name__ == "__main__":
    sys.exit(main())
