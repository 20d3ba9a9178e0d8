"""The effect of each advice against out-of-memory errors, as Markdown: an iteration of PPO with and
without its flags, measured by `headroom ppo`.

usage: troubleshooting_table.py HEADROOM training|rollout|host
"""

import shlex
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from one_run import record_of_run  # noqa: E402

GIB = 1 << 30
# Everything fits here, so that both sides of a difference can be measured.
BASE = ("--model-size 7b --param-dtype bf16 --attention sdpa --prompt-len 512 --response-len 128 "
        "--batch-size 8 --device virtual:h100-80gb,bytes=400GB")

# Section of the advice: what it says; flags beside BASE without it, and with it.
TRAINING = [
    ("Enable gradient checkpointing", "", "--recompute every:1"),
    ("Enable activation offloading", "", "--activations offload"),
    ("Fewer tokens in a micro-batch", "--max-tokens-per-micro-batch 5120",
     "--max-tokens-per-micro-batch 1280"),
    ("Enable parameter offloading", "--master-weights fp32 --optimizer-offload cpu",
     "--master-weights fp32 --optimizer-offload cpu --param-offload cpu"),
    ("Enable optimizer offloading", "--master-weights fp32 --swap-phases",
     "--master-weights fp32 --swap-phases --optimizer-offload cpu"),
    ("Optimizer states in 8 bits", "", "--optimizer adam8bit"),
    ("States that a phase does not need leave the card", "--reference resident",
     "--reference resident --swap-phases"),
    ("The reference's blocks come over one by one", "", "--reference offload"),
]
ROLLOUT = [
    ("A smaller share of the card for the cache: others wait", "--kv-cache paged",
     "--kv-cache paged --kv-cache-tokens 2560"),
    ("No CUDA graphs", "--decode-graph", "--decode-graph=false"),
    ("Fewer sequences at once", "", "--batch-size 4"),
    ("Fewer prompt tokens in one pass", "", "--prefill-chunk 512"),
    ("A cache in 8 bits", "", "--kv-cache-dtype fp8"),
    ("Critic and optimizer leave during generation", "", "--swap-phases"),
]
HOST = [
    ("No activations on the host", "--activations offload", ""),
    ("Parameters stay on the card",
     "--master-weights fp32 --optimizer-offload cpu --param-offload cpu",
     "--master-weights fp32 --optimizer-offload cpu"),
    ("Optimizer states stay on the card", "--master-weights fp32 --optimizer-offload cpu",
     "--master-weights fp32"),
    ("The reference stays on the card", "--reference offload", "--reference resident"),
    ("No swapping between phases", "--swap-phases", ""),
    ("The reference on a disk", "--reference offload", "--reference disk:{disk}"),
]


def record_of(headroom, flags):
    command = [headroom, "ppo", *shlex.split(BASE)]
    for flag in shlex.split(flags):  # what is given twice is given once
        name = flag.split("=")[0]
        if name.startswith("--") and name in command:
            at = command.index(name)
            del command[at:at + 2]
    command += [*shlex.split(flags), "--stacks", "none", "--format", "json"]
    return record_of_run(command)


def on_card(phase):
    return lambda record: record["phases"][phase]["allocated_bytes"]


def on_host(record):
    spaces = record["spaces"]
    return sum(spaces[name]["peak_allocated_bytes"] for name in ("host", "host_pinned")
               if name in spaces)


SECTIONS = {
    "training": (TRAINING, on_card("training"), "peak of training"),
    "rollout": (ROLLOUT, on_card("generation"), "peak of generation"),
    "host": (HOST, on_host, "host memory, pinned"),
}


def shown(flags):
    return f"`{flags}`" if flags else ""


def main():
    headroom, section, *disk = sys.argv[1:]
    advice, figure, title = SECTIONS[section]
    known = {}

    def figure_of(flags):
        flags = flags.format(disk=disk[0]) if "{disk}" in flags else flags
        if flags not in known:
            known[flags] = figure(record_of(headroom, flags))
        return known[flags]

    print(f"| advice | without it | with it | {title} without, GiB | with, GiB | changed, GiB |\n"
          "| --- | --- | --- | ---: | ---: | ---: |")
    for what, without, with_it in advice:
        before, after = figure_of(without), figure_of(with_it)
        print(f"| {what} | {shown(without)} | {shown(with_it.replace('{disk}', 'DIR'))} "
              f"| {before / GIB:.3f} | {after / GIB:.3f} | {(after - before) / GIB:+.3f} |")
    print(f"\nBeside `headroom ppo {BASE}`.")


if __name__ == "__main__":
    main()
