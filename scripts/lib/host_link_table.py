"""What the host link costs a training step at least, for sizes and sets of offloads, as one Markdown
table: every figure is from `headroom theory`.

usage: host_link_table.py HEADROOM
"""

import re
import subprocess
import sys

CARD = "virtual:rtx4090"
SIZES = ("2.7B", "7b")
BATCHES = (1, 8)
CONTEXT = 2048
BF16 = {"weights": "bf16", "master-weights": "fp32", "attention": "flash", "checkpoint": "full"}
SETS = (
    ("activations", {"activations": "offload"}),
    ("optimizer", {"optimizer-offload": "cpu"}),
    ("optimizer, 8 micro-batches", {"optimizer-offload": "cpu", "micro-batches": "8"}),
    ("optimizer and activations", {"optimizer-offload": "cpu", "activations": "offload"}),
    ("optimizer and parameters", {"optimizer-offload": "cpu", "param-offload": "cpu"}),
)
OF_THE_PEAK = 0.4  # of the card's arithmetic, as steps reach it
HEAD = ["size", "batch", "on the host", "to the host", "back", "copies at least, ms",
        "of them alone, ms", "arithmetic at least, ms", "times as long, at the peak",
        f"at {OF_THE_PEAK:.0%} of it"]
TRAFFIC = re.compile(r"Over the host link in a step: (.+?) to the host, (.+?) back\.")
TIMES = re.compile(r"that takes ([0-9.,]+) ms; the step's arithmetic at the card's peak takes "
                   r"([0-9.,]+) ms")
ALONE = re.compile(r"Of the copies ([0-9.,]+) ms bring weights back")


def theory(headroom, flags):
    words = [f"--{name}={value}" for name, value in flags.items()]
    done = subprocess.run([headroom, "theory", *words, "--format", "md"], capture_output=True,
                          text=True, check=True)
    return done.stdout


def milliseconds(text):
    return float(text.replace(",", ""))


def longer(copies, alone, arithmetic):
    """Copies run beside the arithmetic, which takes the longer of the two, or alone."""
    return (max(copies - alone, arithmetic) + alone) / arithmetic


def row(headroom, size, batch, name, offloads):
    text = theory(headroom, {"device": CARD, "model-size": size, "context-length": CONTEXT,
                             "batch-size": batch, "profile-type": "training", **BF16, **offloads})
    to_host, back = TRAFFIC.search(text).groups()
    copies, arithmetic = map(milliseconds, TIMES.search(text).groups())
    found = ALONE.search(text)
    alone = milliseconds(found.group(1)) if found else 0
    return [size, str(batch), name, to_host, back, f"{copies:.1f}", f"{alone:.1f}",
            f"{arithmetic:.1f}", f"{longer(copies, alone, arithmetic):.2f}",
            f"{longer(copies, alone, arithmetic / OF_THE_PEAK):.2f}"]


def main():
    headroom = sys.argv[1]
    rows = [row(headroom, size, batch, name, offloads) for size in SIZES for batch in BATCHES
            for name, offloads in SETS if batch % int(offloads.get("micro-batches", 1)) == 0]
    print(f"Training steps of {CONTEXT:,} tokens a sequence on an RTX 4090: BF16 weights with FP32 "
          "masters, flash attention, every block checkpointed. Copies one after the other at the "
          "link's peak rate; useful arithmetic at the card's dense BF16 peak. Copies run beside the "
          "arithmetic but for weights that the host has updated. The host's update, and waiting, "
          "come on top.\n")
    print("| " + " | ".join(HEAD) + " |")
    print("| --- | ---: | --- |" + " ---: |" * (len(HEAD) - 3))
    for cells in rows:
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
