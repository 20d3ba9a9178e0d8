"""Holds `headroom budget` against vLLM itself on virtual cards, as Markdown.

usage: budget.py OURS.json HEADROOM PYTHON [NAME...]   starts the engines (of these names), keeps the others
       budget.py --table OURS.json HEADROOM            prints the table only; the budgets are computed each time
PYTHON has vLLM (recipes/install.sh serve). Exit codes: 0, 2 usage, 5 an engine did not start.
"""

import json
import subprocess
import sys

import engine

# name: (shape, card, cards, requests at a time, tokens of a step): the defaults of vllm serve on that card.
CASES = {
    "Llama-3.1-8B on h100-80gb": ("llama-3.1-8b", "h100-80gb", 1, 1024, 8192),
    "Llama-3.1-8B on 2 x h100-80gb": ("llama-3.1-8b", "h100-80gb", 2, 1024, 8192),
    "Llama-3.1-8B on l4": ("llama-3.1-8b", "l4", 1, 256, 2048),
    "Llama-3.2-1B on rtx4090, tied embeddings": ("llama-3.2-1b", "rtx4090", 1, 256, 2048),
    "Qwen2.5-0.5B on rtx4090, tied embeddings": ("qwen2.5-0.5b", "rtx4090", 1, 256, 2048),
    "Llama-2-7B on a10g": ("llama-2-7b", "a10g", 1, 256, 2048),
    "Qwen2.5-7B on l4": ("qwen2.5-7b", "l4", 1, 256, 2048),
}
FLAGS = ("--enforce-eager", "--max-model-len", "4096", "--gpu-memory-utilization", "0.9")


def budget(name, headroom):
    """Bytes and tokens of the cache by the formula."""
    shape, card, count, requests, tokens = CASES[name]
    with open(engine.shape(shape), encoding="utf-8") as file:
        config = json.load(file)
    words = ["--model-size", "custom", "--enforce-eager", "--card", card, "--tp", count, "--max-model-len", 4096,
             "--max-num-seqs", requests, "--max-num-batched-tokens", tokens]
    for flag, key in (("d-model", "hidden_size"), ("d-ff", "intermediate_size"), ("layers", "num_hidden_layers"),
                      ("heads", "num_attention_heads"), ("kv-heads", "num_key_value_heads"), ("vocab-size", "vocab_size")):
        words += ["--" + flag, config[key]]
    if config.get("tie_word_embeddings"):
        words.append("--tied-embeddings")
    done = subprocess.run([headroom, "budget", *map(str, words), "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        raise SystemExit(f"budget.py: {name}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def row(name, one, headroom):
    tables = budget(name, headroom)
    tables = tables if isinstance(tables, list) else [tables]
    answer = next(table["rows"][0] for table in tables if table["title"].startswith("Inference on"))
    formula, engines = int(answer["cache tokens"]), int(one["tokens"])
    return [name, one["weights_gib"], one["activations_gib"], one.get("outside_gib", ""), f"{engines:,}", f"{formula:,}",
            f"{100 * (formula / engines - 1):+.1f} %", f"{float(one['cache_gib']) * (formula - engines) / engines:+.2f}"]


def table(ours, headroom):
    version = next((one["vllm"] for one in ours.values() if "vllm" in one), "")
    lines = [f"### The formula of `headroom budget` beside vLLM {version} on virtual cards\n",
             "Written by `studies/serving/budget.py`: eager, 4,096 positions, utilization 0.9. GiB are the engine's.\n",
             "| engine | weights | activations | outside torch | tokens, engine | tokens, formula | difference | GiB |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    lines += ["| " + " | ".join(row(name, ours[name], headroom)) + " |" for name in CASES if name in ours]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--table":
        print(table(engine.load(sys.argv[2]), sys.argv[3]), end="")
        return 0
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    path, headroom, python = sys.argv[1:4]
    ours, status, groups = engine.load(path, {}), 0, {}
    for name in sys.argv[4:] or CASES:
        shape, card, count, _, _ = CASES[name]
        split = ("--tensor-parallel-size", str(count)) if count > 1 else ()
        groups.setdefault((card, count), {})[name] = {"config": engine.shape(shape), "flags": (*FLAGS, *split), "answer": 0}
    for (card, count), jobs in groups.items():
        for name, found, text in engine.start_all(headroom, python, card, count, jobs):
            if "cache_gib" in found:
                ours[name] = found
                engine.save(path, ours)
            else:
                sys.stderr.write(f"{name}: " + "\n".join(text.splitlines()[-15:]) + "\n")
                status = 5
    print(table(ours, headroom), end="")
    return status


if __name__ == "__main__":
    sys.exit(main())
