"""Generation on a virtual card as Markdown tables: what each cache takes, and what CUDA graphs of the
decode take by the number of sequences, from `headroom profile`; and its time on the CPU beside
transformers' generate().

usage: generation_table.py HEADROOM caches|graphs
       generation_table.py speed RECORDS    lines of tests/train/generate/transformers_test.py --json
"""

import json
import statistics
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from one_run import record_of_run  # noqa: E402

CARD = "virtual:h100-80gb"
MODEL = {"model-size": "7b", "param-dtype": "bf16", "attention": "sdpa", "context-length": "2048"}
GIB, MIB = 1 << 30, 1 << 20


def record_of(headroom, **flags):
    flags = {**MODEL, "profile-type": "generate", "device": CARD, "warmup-steps": "1",
             "measure-steps": "1", "stacks": "none", "format": "json",
             **{name.replace("_", "-"): value for name, value in flags.items()}}
    command = [headroom, "profile", *(f"--{name}={value}" for name, value in flags.items())]
    return record_of_run(command)


def phase(record, name):
    return record["phases"][name]["allocated_bytes"]


def caches(headroom):
    print("| cache | type | prefill in chunks of | cache, GiB | formula, GiB | peak at prefill, GiB "
          "| peak at decode, GiB |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for form in ("contiguous", "paged"):
        for dtype in ("bf16", "fp8", "int8"):
            for chunk in ("0", "2048"):
                record = record_of(headroom, batch_size="16", prompt_len="1000",
                                   response_len="24", kv_cache=form, kv_cache_dtype=dtype,
                                   prefill_chunk=chunk)
                measured = record["category_peak_bytes"]["kv_cache"]
                formula = record["predicted"]["kv_cache"]
                if measured != formula:
                    sys.exit(f"{form} {dtype}: {measured} bytes, and the formula says {formula}")
                figures = (measured, formula, phase(record, "prefill"), phase(record, "decode"))
                print(f"| {form} | {dtype} | {chunk if chunk != '0' else 'all'} | "
                      + " | ".join(f"{bytes_ / GIB:.3f}" for bytes_ in figures) + " |")
    print(f"\n7b in BF16 on {CARD}: 16 sequences, prompts of 1,000 tokens, responses of 24; the "
          "cache of the recorded step, equal to the formula to the byte.")


def graphs(headroom):
    print("| sequences | private pool, MiB | peak reserved, GiB | without graphs, GiB |\n"
          "| ---: | ---: | ---: | ---: |")
    for batch in (1, 2, 4, 8, 16, 32, 64):
        flags = {"batch_size": str(batch), "prompt_len": "100", "response_len": "4"}
        plain = record_of(headroom, **flags)
        captured = record_of(headroom, decode_graph="true", **flags)
        pool = captured["generation"]["graph_pool_bytes"]
        reserved = [record["peak_reserved_bytes"] for record in (captured, plain)]
        print(f"| {batch} | {pool / MIB:.0f} | "
              + " | ".join(f"{bytes_ / GIB:.3f}" for bytes_ in reserved) + " |")
    print(f"\n7b in BF16 on {CARD}, a contiguous cache of 104 tokens a sequence, one graph for the "
          "decode. The pool is the allocator's; the driver's memory for a graph's launches comes "
          "on top, and is unmeasured here.")


def speed(records):
    print("| cache | threads | ours, ms | transformers, ms | ratio of the medians | lowest and highest "
          "ratio of a round |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    with open(records, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        ours, theirs = row["ours_ms"], row["transformers_ms"]
        rounds = [a / b for a, b in zip(ours, theirs)]
        shape = row["shape"]
        print(f"| {shape['kv_cache']} | {shape['threads']} | {statistics.median(ours):.0f} | "
              f"{statistics.median(theirs):.0f} | {row['ratio']:.2f} | "
              f"{min(rounds):.2f}, {max(rounds):.2f} |")
    print(f"\nGreedy, equal tokens, {len(rows[0]['ours_ms'])} rounds in turn in one run: "
          f"{shape['layers']} layers of width {shape['d_model']}, {shape['heads']} heads of which "
          f"{shape['kv_heads']} have keys, {shape['batch_size']} sequences, prompts of "
          f"{shape['prompt_len']} tokens, responses of {shape['response_len']}, FP32; "
          f"transformers {rows[0]['transformers']} with its dynamic cache and sdpa, torch "
          f"{rows[0]['torch']}. On a machine of 2 cores: ratios, not times.")


def main():
    first, second = sys.argv[1:]
    if first == "speed":
        return speed(second)
    return {"caches": caches, "graphs": graphs}[second](first)


if __name__ == "__main__":
    main()
