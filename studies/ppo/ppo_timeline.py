"""The memory of an iteration of PPO that was run, phase by phase in boxes, from Records of `headroom
ppo` of the same iteration without and with offload.

usage: ppo_timeline.py WITHOUT.json WITH.json FLAGS FLAGS_OF_OFFLOAD

The card is that of the second; the first may have been given more memory than it has.
"""

import json
import sys
from pathlib import Path

GB = 10**9
WIDTH = 61
ROLES = ("actor", "critic", "reward", "reference")
STATES = {"parameters": "weights", "gradients": "gradients",
          "optimizer_state": "optimizer", "master_weights": "optimizer"}
OTHERS = {"kv_cache": "KV Cache", "other": "Experience", "workspaces": "cuBLAS workspaces"}


def name_of(component):
    role, _, category = component.rpartition(" ")
    if role and category in STATES:
        return f"{role.capitalize()} {STATES[category]}"
    return OTHERS.get(category, "Activations")


def components(phase):
    named = {}
    for component, size in phase["component_bytes"].items():
        name = name_of(component)
        named[name] = named.get(name, 0) + size
    order = [f"{role.capitalize()} {state}" for state in ("weights", "gradients", "optimizer")
             for role in ROLES] + ["KV Cache", "Activations", "Experience", "cuBLAS workspaces"]
    return {name: named[name] for name in order if name in named}


def in_gb(size):
    if size == 0:
        return "0 GB"
    return f"{size / GB:.1f} GB" if size >= GB / 20 else f"{size / 10**6:.1f} MB"


def line(name, size, after=""):
    text = f" {name + ':':<26} {in_gb(size):>9}{'  ' + after if after else ''}"
    return f"  │{text:<{WIDTH}}│"


def verdict(size, card):
    return f"[OK - fits in {card / GB:.0f} GB]" if size <= card else "[FAIL - OOM]"


def box(lines):
    return ["  ┌" + "─" * WIDTH + "┐", *lines, "  └" + "─" * WIDTH + "┘"]


def peak(record, phase):
    return record["phases"][phase]["reserved_bytes"]


def transition(before, after):
    def held(phase):
        return {name: size for name, size in components(phase).items()
                if name.endswith(("weights", "optimizer")) or name == "KV Cache"}

    gone, come = held(before), held(after)
    freed = {name: size for name, size in gone.items() if come.get(name, 0) < size}
    loaded = {name: size for name, size in come.items() if gone.get(name, 0) < size}
    for title, sizes in (("freed", freed), ("allocated", loaded)):
        total = sum(sizes.values())
        yield f"  Memory {title}: {in_gb(total)}" + (f" ({', '.join(sizes)})" if sizes else "")


def main():
    without, with_offload = (json.loads(Path(path).read_text(encoding="utf-8"))
                             for path in sys.argv[1:3])
    card = with_offload["environment"]["virtual_card"]["total_bytes"]
    phases = {phase["phase"]: phase for phase in with_offload["ppo"]["phases"]}
    plain = {phase["phase"]: phase for phase in without["ppo"]["phases"]}
    spec = with_offload["spec"]
    print(f"```\n=== RLHF Memory Timeline ({spec['model_size']} model, 1 GPU, measured) ===\n\n"
          f"GPU Memory Available: {card / GB:.1f} GB\n")
    for number, (phase, title) in enumerate((("generation", "Generation"),
                                             ("scoring", "Scoring")), start=1):
        total = peak(with_offload, phase)
        print(f"Phase {2 * number - 1}: {title}")
        print("\n".join(box([*(line(*pair) for pair in components(phases[phase]).items()),
                             "  │ " + "─" * 37 + " " * (WIDTH - 38) + "│",
                             line("Reserved", total, verdict(total, card))])))
        after = ("scoring", "training")[number - 1]
        print(f"\nPhase {2 * number}: Transition to {after}")
        print("\n".join(transition(phases[phase], phases[after])) + "\n")
    print("Phase 5: Training")
    moved = components(phases["training"])
    rows = []
    for name, size in components(plain["training"]).items():
        left = moved.get(name, 0)
        rows.append(line(name, size, f"<- {in_gb(left)} with offload" if left < size else ""))
    print("\n".join(box([*rows, "  │ " + "─" * 37 + " " * (WIDTH - 38) + "│",
                         line("Without offload", peak(without, "training"),
                              verdict(peak(without, "training"), card)),
                         line("With offload", peak(with_offload, "training"),
                              verdict(peak(with_offload, "training"), card))])))
    print(f"```\n\nMeasured: `headroom ppo {sys.argv[3]}` on `{spec['device']}`; with offload "
          f"`{sys.argv[4]}` beside it.")


if __name__ == "__main__":
    main()
