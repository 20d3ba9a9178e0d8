"""Iterations of PPO and GRPO on virtual cards: each phase's peak, computed and measured.

usage: ppo_table.py run HEADROOM [NAME...]   runs the set-ups, or those of these names, one after
                                             another; a line of JSON for each
       ppo_table.py names                    of all set-ups, the larger models last
       ppo_table.py table RECORDS            of such lines, as Markdown
"""

import csv
import io
import json
import subprocess
import sys

PHASES = ("generation", "scoring", "training")
GIB = 1 << 30

SMALL = "--model-size small --batch-size 4 --context-length 256 --prompt-len 128 --response-len 64"
LONG = "--model-size small --batch-size 8 --context-length 1024"
LOW = "--param-dtype bf16 --attention sdpa"
ON_HOST = "--optimizer-offload cpu --master-weights fp32"
OF_7B = f"--model-size 7b {LOW} --recompute full"
# Name, card, flags. A name says what is beside the defaults: FP32, eager attention, a contiguous
# cache, PPO with a critic of the actor's size, a reference model and a rule for a reward.
SETUPS = (
    ("small", "h100-80gb", SMALL),
    ("small, BF16 autocast", "h100-80gb", f"{SMALL} --precision bf16"),
    ("small, BF16 weights, sdpa, paged cache in FP8", "a100-80gb",
     f"{SMALL} {LOW} --kv-cache paged --kv-cache-dtype fp8"),
    ("small, grouped heads, cache in INT8", "h200",
     f"{SMALL} --kv-heads 4 --kv-cache-dtype int8"),
    ("small, prefill in chunks, checkpoint full", "h100-80gb",
     f"{SMALL} --prefill-chunk 100 --recompute full"),
    ("small, critic of medium, reward model", "h100-80gb",
     f"{SMALL} --critic-size medium --reward-size small"),
    ("small, packed under 400 tokens, 2 minibatches", "rtx4090",
     f"{SMALL} --max-tokens-per-micro-batch 400 --minibatches 2"),
    ("small, phases swapped, cache emptied", "h100-80gb",
     f"{SMALL} --swap-phases --empty-cache-between-phases"),
    ("small, reference and optimizers on the host", "rtx4090",
     f"{SMALL} --reference offload --optimizer-offload cpu"),
    ("small, GRPO, groups of 4", "h100-80gb", f"{SMALL} --algorithm grpo --group-size 4"),
    ("small, parameters, optimizers and activations on the host", "rtx4090",
     f"{SMALL} --param-offload cpu --optimizer-offload cpu --activations offload"),
    ("small, FP16 autocast, sdpa, fused update, clipped", "rtx4090",
     f"{SMALL} --precision fp16 --attention sdpa --optimizer-impl fused --max-grad-norm 1"),
    ("small, activations in INT8, 8-bit Adam", "h100-80gb",
     f"{SMALL} --activations int8 --optimizer adam8bit"),
    ("small, actor checkpointed every 3 blocks, entropy bonus", "a100-80gb",
     f"{SMALL} --precision bf16 --actor-recompute every:3 --entropy-coef 0.01"),
    ("small, GRPO without a reference, BF16 weights with master copies", "b200",
     f"{SMALL} {LOW} --master-weights fp32 --algorithm grpo --group-size 2 --reference none"),
    ("small, 8 prompts of 960 tokens, responses of 64", "h200",
     f"{LONG} --precision bf16 --attention sdpa --kv-cache paged --kv-cache-dtype int8 "
     "--prompt-len 960 --response-len 64"),
    ("small, 8 prompts of 64 tokens, responses of 960, packed", "h100-80gb",
     f"{LONG} {LOW} --prompt-len 64 --response-len 960 --max-tokens-per-micro-batch 4096"),
    ("2.7B on 24 GB: BF16 weights, optimizers on the host, phases swapped", "rtx4090",
     f"--model-size 2.7B {LOW} {ON_HOST} --recompute full --swap-phases "
     "--batch-size 4 --context-length 512 --prompt-len 256 --response-len 64"),
    ("2.7B on 24 GB: GRPO, 8-bit Adam, reference on the host", "rtx4090",
     f"--model-size 2.7B {LOW} --recompute full --optimizer adam8bit --algorithm grpo "
     "--group-size 4 --reference offload --batch-size 8 --context-length 512 --prompt-len 256 "
     "--response-len 64 --max-tokens-per-micro-batch 1024"),
    ("7b on 80 GB: 8-bit Adam, reference on the host, 4 of 2,048 tokens", "h100-80gb",
     f"{OF_7B} --optimizer adam8bit --reference offload --batch-size 4 --context-length 2048"),
    ("7b on 80 GB: AdamW on the host, phases swapped, reward model", "h100-80gb",
     f"{OF_7B} {ON_HOST} --swap-phases --reward-size 7b "
     "--batch-size 8 --context-length 1024 --prompt-len 960 --response-len 64 "
     "--max-tokens-per-micro-batch 2048"),
    ("7b on 80 GB: GRPO, paged cache in FP8", "a100-80gb",
     f"{OF_7B} --optimizer adam8bit --algorithm grpo --group-size 4 --kv-cache paged "
     "--kv-cache-dtype fp8 --batch-size 16 --context-length 1024 --prompt-len 960 "
     "--response-len 64 --max-tokens-per-micro-batch 4096"),
    ("7b on 24 GB: everything on the host", "rtx4090",
     f"{OF_7B} {ON_HOST} --param-offload cpu --activations offload "
     "--batch-size 4 --context-length 512 --prompt-len 448 --response-len 64 "
     "--max-tokens-per-micro-batch 512"),
)


def peaks_of(answer, name):
    """By phase: bytes allocated, computed and measured."""
    phases = {phase: {} for phase in PHASES}
    for table, row, column, value in csv.reader(io.StringIO(answer)):
        what = {"computed_bytes": "computed", "allocated_bytes": "measured"}.get(column)
        if table == "Peak per phase" and row in phases and what:
            phases[row][what] = int(value)
    if any(len(peaks) != 2 for peaks in phases.values()):
        sys.exit(f"{name}: a phase has no peak: {phases}")
    return phases


def measure(headroom, setup):
    """The table's data of one set-up."""
    name, card, flags = setup
    command = [headroom, "ppo", *flags.split(), "--device", f"virtual:{card}", "--stacks", "none",
               "--format", "csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return {"name": name, "card": card, "flags": flags, "phases": peaks_of(done.stdout, name)}


def difference(peaks):
    return (peaks["computed"] - peaks["measured"]) / peaks["measured"]


def percent(share):
    return "0" if share == 0 else f"{100 * share:+.4f}"


def print_table(path):
    print("| set-up | card | " + " | ".join(f"{phase}: computed, GiB | measured, GiB"
                                             for phase in PHASES)
          + " | largest difference, % |")
    print("| --- | --- |" + " ---: |" * (2 * len(PHASES) + 1))
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        figures = [f"{row['phases'][phase][what] / GIB:.3f}" for phase in PHASES
                   for what in ("computed", "measured")]
        worst = max((difference(row["phases"][phase]) for phase in PHASES), key=abs)
        print("| " + " | ".join([row["name"], row["card"], *figures, percent(worst)]) + " |")
    equal = sum(row["phases"][phase]["computed"] == row["phases"][phase]["measured"]
                for row in rows for phase in PHASES)
    print(f"\nPeak allocated of each phase of one iteration, after one to warm up, on virtual cards: "
          f"{equal} of {len(PHASES) * len(rows)} are equal to the byte. Not said: FP32, eager "
          "attention, a contiguous cache, PPO with a critic of the actor's size, a reference model "
          "and a rule for a reward. The flags of each are in `results/ppo/computed_beside_measured.jsonl`.")


def main():
    what, *arguments = sys.argv[1:]
    if what == "names":
        print("\n".join(name for name, _, _ in SETUPS))
    elif what == "table":
        print_table(*arguments)
    else:
        headroom, *wanted = arguments
        for setup in SETUPS:
            if not wanted or setup[0] in wanted:
                print(json.dumps(measure(headroom, setup)), flush=True)


if __name__ == "__main__":
    main()
