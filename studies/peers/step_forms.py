#!/usr/bin/env python3
"""Prints a table of the forms of a step from Records: time and memory of each, as Markdown.

usage: step_forms.py RECORDS.jsonl > TABLE.md
"""

import json
import sys
from statistics import median


def form(spec):
    kernels = "compiled" if spec["kernels"] == "compiled" else "eager"
    assigned = spec["attention"] == "eager" and spec["optimizer_impl"] == "reference"
    parts = [kernels, "as assigned" if assigned else f"{spec['attention']} attention, {spec['optimizer_impl']} AdamW"]
    return ", ".join(parts + ["one CUDA graph"] * bool(spec.get("step_graph")))


def gib(count):
    return f"{count / 2**30:.3f}" if count else "-"


def rows(records):
    yield "| size | context | precision | kernels | ms per step | allocated, GiB | reserved, GiB | pool of the graph, GiB |"
    yield "|---|---:|---|---|---:|---:|---:|---:|"
    for record in records:
        spec = record["spec"]
        yield (f"| {spec['model_size']} | {spec['context_length']} | {spec['precision']} | {form(spec)} | "
               f"{median(record['step_ms']):.2f} | {gib(record['peak_allocated_bytes'])} | "
               f"{gib(record['peak_reserved_bytes'])} | {gib(record.get('graph_pool_bytes'))} |")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    card = records[0]["environment"]
    print("\n".join(rows(records)))
    print(f"\nOne training step, batch {records[0]['spec']['batch_size']}; medians. {card['device_name']}, "
          f"driver {card['nvml']['driver_version']}, torch {card['libtorch']}.")


if __name__ == "__main__":
    main()
