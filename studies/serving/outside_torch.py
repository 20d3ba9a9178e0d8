"""Memory outside torch on real cards, beyond the CUDA context, as Markdown: printed figures, the differences to public
logs of vLLM, and fine-tuning on an H100.

usage: outside_torch.py OUTSIDE.json LOGS.json OURS.json REAL.jsonl VIRTUAL.jsonl
"""

import json
import sys
from collections import Counter
from pathlib import Path

import engine

MIB = 1 << 20


def of_logs(outside, logs, ours):
    """Cards with logs of the version that is installed, with the tokens that a real card lacks, in MiB."""
    found = {}
    for row in logs:
        mine = ours.get(row["name"], {})
        if mine.get("vllm") != row["vllm"] or row["card"] not in outside["cards_of_logs"] or row["name"] in outside["other_utilization"]:
            continue
        name = "tokens" if "tokens" in row["printed"] else "longest"
        shape = json.loads(Path(engine.shape(row["config"])).read_text())
        token = 2 * 2 * shape["num_hidden_layers"] * shape["num_key_value_heads"] * shape["head_dim"]
        lacks = (int(mine[name]) - row["printed"][name]) * token / MIB
        found.setdefault((row["card"], row["vllm"], row["config"]), []).append(f"{lacks:.1f}")
    return [(card, f"vLLM {vllm}, {config}: the difference to {'a public log' if len(figures) == 1 else 'public logs'}",
             " and ".join(figures) + " MiB") for (card, vllm, config), figures in found.items()]


def of_records(outside, real, virtual):
    """Programs that had the card alone, by type of their numbers."""
    context = {row["case"]: row["outside_torch"] for row in virtual}
    found = Counter()
    for row in real:
        if row["case"] not in outside["beside_another_process"]:
            kind = "FP32" if "--precision fp32" in row["case"] else "BF16"
            found[kind, (row["outside_torch"] - context[row["case"]]) / MIB] += 1
    return [(outside["card"], f"fine-tuning with transformers, {kind}, {count} programs", f"{mib:.1f} MiB in each")
            for (kind, mib), count in found.items()]


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    outside, logs, ours = (json.loads(Path(path).read_text()) for path in sys.argv[1:4])
    real, virtual = ([json.loads(line) for line in Path(path).read_text().splitlines()] for path in sys.argv[4:])
    rows = [*of_logs(outside, logs["logs"], ours), *((row["card"], row["program"], row["figure"]) for row in outside["printed"]),
            *of_records(outside, real, virtual)]
    print("### Memory outside torch on real cards\n")
    print("Written by `studies/serving/outside_torch.py`: one process, beyond the CUDA context.\n")
    print("| card | program | memory outside torch |\n| --- | --- | ---: |")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print("\n" + outside["source"])


if __name__ == "__main__":
    main()
