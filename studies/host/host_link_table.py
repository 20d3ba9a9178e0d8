"""The least time that the host link and a disk cost a training step, for sizes and sets of offloads, as a
Markdown table: every figure is from `headroom theory`.

usage: host_link_table.py HEADROOM link|disk
"""

import csv
import io
import subprocess
import sys

CARD = "virtual:rtx4090"
SIZES = ("2.7B", "7b")
BATCHES = (1, 8)
CONTEXT = 2048
BF16 = {"param-dtype": "bf16", "master-weights": "fp32", "attention": "flash", "recompute": "full"}
STEPS = (f"Training steps of {CONTEXT:,} tokens a sequence on an RTX 4090: BF16 weights with FP32 "
         "masters, flash attention, every block checkpointed. ")
OF_THE_HOST = (
    ("activations", {"activations": "offload"}),
    ("optimizer", {"optimizer-offload": "cpu"}),
    ("optimizer, 8 micro-batches", {"optimizer-offload": "cpu", "micro-batches": "8"}),
    ("optimizer and activations", {"optimizer-offload": "cpu", "activations": "offload"}),
    ("optimizer and parameters", {"optimizer-offload": "cpu", "param-offload": "cpu"}),
)
OF_THE_DISK = (
    ("optimizer", {"optimizer-offload": "nvme:."}),
    ("optimizer and parameters", {"optimizer-offload": "nvme:.", "param-offload": "nvme:."}),
)
RATES = (None, "2GB/s")  # the bound of a link; typed
TIMES = "Least time of the parts of a step"
LONGER = "Least time of a step, with transfers and without"
HOST_LINK, DISK, ARITHMETIC = ("copies over the host link", "reads and writes of the disk",
                               "useful arithmetic")
PARTS = ("at its peak", "at 40% of it")  # of the card's arithmetic, as steps reach it


def theory(headroom, size, batch, flags):
    """The output of `headroom theory` for a step: a function of table, row and column."""
    flags = {"device": CARD, "model-size": size, "context-length": CONTEXT, "batch-size": batch,
             "profile-type": "training", **BF16, **flags}
    words = [f"--{name}={value}" for name, value in flags.items()]
    done = subprocess.run([headroom, "theory", *words, "--format", "csv"], capture_output=True,
                          text=True, check=True)
    cells = {tuple(line[:3]): line[3] for line in csv.reader(io.StringIO(done.stdout))}
    return lambda *place: cells[place]


def of_the_link(headroom):
    head = ["size", "batch", "on the host", "to the host", "back", "copies at least, ms",
            "of them alone, ms", "arithmetic at least, ms", "times as long, at the peak",
            "at 40% of it"]
    rows = []
    for size, batch, (name, flags) in ((s, b, o) for s in SIZES for b in BATCHES
                                       for o in OF_THE_HOST):
        if batch % int(flags.get("micro-batches", 1)) != 0:
            continue
        cell = theory(headroom, size, batch, flags)
        rows.append([size, str(batch), name,
                     *(cell("Moved by offload in a step", way, "moved")
                       for way in ("to host", "to card")),
                     cell(TIMES, HOST_LINK, "ms"), cell(TIMES, HOST_LINK, "of them alone, ms"),
                     cell(TIMES, ARITHMETIC, "ms"),
                     *(cell(LONGER, part, "times as long") for part in PARTS)])
    return head, rows, STEPS + (
        "Copies one after the other at the link's peak rate; useful arithmetic at the card's dense "
        "BF16 peak. Copies run beside the arithmetic but for weights that the host has updated. "
        "The host's update, and waiting, come on top.")


def of_the_disk(headroom):
    head = ["size", "batch", "on the disk", "read", "written", "the disk's rate",
            "disk at least, ms", "of it alone, ms", "link at least, ms", "arithmetic at least, ms",
            "times as long, at the peak", "at 40% of it"]
    rows = []
    for size, batch, (name, flags), rate in ((s, b, o, r) for s in SIZES for b in BATCHES
                                             for o in OF_THE_DISK for r in RATES):
        cell = theory(headroom, size, batch, {**flags, **({"disk-rate": rate} if rate else {})})
        rows.append([size, str(batch), name,
                     *(cell("Moved by offload in a step", way, "moved")
                       for way in ("from disk", "to disk")),
                     cell(TIMES, DISK, "at"), cell(TIMES, DISK, "ms"),
                     cell(TIMES, DISK, "of them alone, ms"), cell(TIMES, HOST_LINK, "ms"),
                     cell(TIMES, ARITHMETIC, "ms"),
                     *(cell(LONGER, part, "times as long") for part in PARTS)])
    return head, rows, STEPS + (
        "States are read and written, and new weights written, when backward has ended, beside no "
        "arithmetic but beside the link's copies of weights; blocks' weights are read beside the "
        "arithmetic. PCIe 4.0 x4 is the bound that no disk of that link is faster than; 2 GB/s, "
        "read and written together, is typed, not measured. The host's update, and waiting, come "
        "on top.")


def main():
    headroom, which = sys.argv[1:]
    head, rows, text = {"link": of_the_link, "disk": of_the_disk}[which](headroom)
    print(text + "\n")
    print("| " + " | ".join(head) + " |")
    print("| --- | ---: | --- |" + " ---: |" * (len(head) - 3))
    for cells in rows:
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
