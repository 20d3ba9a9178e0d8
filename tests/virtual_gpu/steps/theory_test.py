#!/usr/bin/env python3
"""Theory beside measurement on virtual cards, where shapes are awkward: equal to the byte.

usage: theory_test.py HEADROOM [--wide] [--grids A..B]

Contexts that are no multiple of 32, a context of 1, precisions, attentions. Of each grid every third
of the cells in which every two values stand together once. --wide: every cell, and more contexts, cards, grouped
heads and optimizers. --grids: of these grids, counted from 1, A to B alone.
"""

import argparse
import csv
import io
import json
import random
import re
import subprocess
import sys
from pathlib import Path

from pairwise import pairwise
from warm_cells import WarmCells

CHECKPOINTS = "full,every:2,every:3,blocks:0%,blocks:50%,blocks:100%,selective"
PRECISIONS = "fp32,tf32,bf16,fp16"
FORCED = "math,flash,efficient,cudnn"
SHAPE = {"model-size": "custom", "d-model": "128", "d-ff": "320", "layers": "3", "heads": "4",
         "vocab-size": "500", "batch-size": "3", "warmup-steps": "1", "measure-steps": "1"}
# Figures that are measured under another name than theory's.
MEASURED = {"activations": "saved_bytes", "residual_bytes_per_block": "residual_bytes_per_block",
            "residual_tensors_per_block": "residual_tensors_per_block",
            "recomputed": "recomputed_bytes"}
# Other memories: their highest allocated bytes.
SPACES = {"host_pinned_bytes": "host_pinned", "host_pageable_bytes": "host", "disk_bytes": "disk",
          "disk_buffers_bytes": "disk_buffers"}
TRAFFIC = ("to_host_bytes", "to_card_bytes", "from_disk_bytes", "to_disk_bytes")
PEAK = "peak_allocated_bytes"  # held by peak_test.py


def sweep(cells, **axes):
    """The Records of a grid of SHAPE's model."""
    return cells.sweep(**{name.replace("-", "_"): value for name, value in SHAPE.items()} | axes)


def differences(record):
    """Lines: quantity, theory, measurement. Of a kernel that does not run theory has nothing."""
    if record["status"] == "unsupported":
        return ["theory has rows of what does not run"] if record["predicted"] else []
    if record["status"] != "ok":
        return [f"{record['status']}: {record['reason']}"]
    if not record["predicted"]:
        return ["theory refuses what runs"]
    found = []
    for name, predicted in record["predicted"].items():
        if name == PEAK:
            continue
        key = MEASURED.get(name)
        measured = record[key] if key else record["category_peak_bytes"].get(name)
        if name in TRAFFIC:
            measured = record["host_traffic_bytes"][name.removesuffix("_bytes")]
        if name in SPACES:
            measured = record["spaces"][SPACES[name]]["peak_allocated_bytes"]
        if not predicted and measured is None:  # a forward alone keeps nothing
            continue
        if measured != predicted:
            found.append(f"{name}: theory {predicted}, measured {measured}")
    return found


def live_in_clipping(headroom, record):
    """Live bytes at that point by `headroom theory`, without workspaces."""
    names = {name.replace("-", "_") for name in SHAPE} - {"warmup_steps", "measure_steps"}
    names |= {"device", "profile_type", "precision", "attention", "context_length", "kv_heads",
              "micro_batches", "max_grad_norm", "optimizer", "optimizer_impl", "weights",
              "master_weights", "checkpoint", "activations", "optimizer_offload",
              "param_offload", "tied_embeddings", "qkv_bias", "qk_norm", "head_dim"}
    values = {name: str(record["spec"][name]) for name in sorted(names)}
    flags = [f"--{name.replace('_', '-')}={value.replace('True', 'true').replace('False', 'false')}"
             for name, value in values.items()]
    done = subprocess.run([headroom, "theory", "--format", "csv", *flags], capture_output=True,
                          text=True, check=True)
    for _, row, column, value in csv.reader(io.StringIO(done.stdout)):
        if row.startswith("live in clipping") and column == "training_bytes":
            return int(value)
    raise AssertionError("headroom theory has no row of clipping")


def clipping_differences(headroom, record):
    """The same for the requested bytes of the phase that clips."""
    if record["status"] != "ok" or record["spec"]["max_grad_norm"] == 0:
        return []
    theory = live_in_clipping(headroom, record) + record["category_peak_bytes"]["workspaces"]
    measured = record["phases"]["clipping"]["requested_bytes"]
    return [] if theory == measured else [f"clipping: theory {theory}, measured {measured}"]


def quick_grids():
    yield from grids_of_precision()
    yield from grids_of_offloaded_optimizers()
    yield from grids_of_offloaded_parameters()
    yield from grids_of_optimizers()
    yield from grids_of_checkpointing()
    yield from grids_of_fp8()
    yield from grids_of_layers_besides()


def grids_of_precision():
    yield {"device": "virtual:h200", "profile_type": "training", "precision": PRECISIONS,
           "attention": "eager,sdpa", "context_length": "1,33"}
    yield {"device": "virtual:a100-80gb", "profile_type": "training", "precision": "fp32,bf16",
           "attention": "sdpa", "context_length": "50", "kv_heads": "2"}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,bf16",
           "attention": FORCED, "context_length": "33"}
    yield {"device": "virtual:h200", "profile_type": "training", "weights": "bf16",
           "master_weights": "none,fp32", "attention": "eager,sdpa", "context_length": "1,33"}
    yield {"device": "virtual:h200", "profile_type": "forward-backward,training", "batch_size": "6",
           "precision": PRECISIONS, "micro_batches": "3", "context_length": "33"}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": PRECISIONS,
           "max_grad_norm": "1", "context_length": "33"}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,tf32,bf16",
           "release_gradients": "true", "attention": "eager,sdpa", "context_length": "33"}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,bf16",
           "attention": "eager,sdpa", "context_length": "1,33",
           "activations": "int8:block=100,min=0,fp8:min=16KiB"}


def grids_of_offloaded_optimizers():
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,bf16",
           "attention": "eager,sdpa", "layers": "5", "context_length": "33",
           "checkpoint": f"none,{CHECKPOINTS}", "activations": "offload:min=4KiB"}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,tf32,bf16",
           "attention": "eager,sdpa", "context_length": "9,33", "optimizer_offload": "cpu,nvme:."}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp16",
           "context_length": "33", "batch_size": "4", "micro_batches": "1,2",
           "max_grad_norm": "0,1", "optimizer_offload": "cpu", "param_offload": "none,cpu"}
    # The largest consecutive gradients are in the vocabulary above, here in the blocks.
    for shape in ({"vocab_size": "50"}, {"vocab_size": "50", "d_ff": "48", "kv_heads": "1"},
                  {"vocab_size": "50", "d_ff": "100", "kv_heads": "2"}):
        yield {"device": "virtual:h200", "profile_type": "training", "context_length": "7",
               "weights": "bf16", "master_weights": "fp32", "attention": "eager,sdpa",
               "optimizer_offload": "cpu", "checkpoint": "none,full,selective", **shape}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,bf16",
           "layers": "5", "context_length": "33", "optimizer_offload": "cpu",
           "checkpoint": "none,full", "activations": "int8:min=0,offload:min=4KiB"}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,bf16",
           "context_length": "33", "optimizer_offload": "cpu", "micro_batches": "1,3",
           "max_grad_norm": "0,1", "activations": "exact,offload:min=4KiB"}


def grids_of_offloaded_parameters():
    host = {"device": "virtual:h200", "layers": "5", "context_length": "33",
            "param_offload": "cpu", "optimizer_offload": "cpu", "profile_type": "training"}
    yield {**host, "precision": "fp32,bf16", "checkpoint": f"none,{CHECKPOINTS}",
           "attention": "eager,sdpa"}
    yield {**host, "weights": "bf16", "master_weights": "fp32", "layers": "1,2",
           "checkpoint": "none,full"}
    yield {**host, "precision": "fp32,bf16", "param_offload": "nvme:.",
           "checkpoint": f"none,{CHECKPOINTS}"}
    yield {**host, "weights": "bf16", "master_weights": "fp32", "layers": "1,2,4",
           "param_offload": "nvme:.", "optimizer_offload": "cpu,nvme:."}
    yield {**host, "precision": "fp32", "optimizer_offload": "none", "param_offload": "nvme:.",
           "micro_batches": "3", "checkpoint": "none,every:3", "profile_type": "forward-backward"}
    yield {**host, "precision": "fp32,bf16", "checkpoint": "none,every:2",
           "activations": "int8:min=0,offload:min=4KiB"}
    yield {**host, "precision": "fp32,fp16", "optimizer_offload": "none",
           "checkpoint": "none,every:3",
           "profile_type": "forward,forward-grad,forward-backward"}
    yield {**host, "precision": "fp8", "context_length": "16", "checkpoint": "none,every:2"}
    yield {**host, "optimizer_offload": "none", "profile_type": "forward-backward",
           "micro_batches": "3", "checkpoint": "none,full"}


def grids_of_optimizers():
    # 48 x 128 elements are whole blocks of 8-bit states, 100 x 130 are not, 31 x 130 stay in FP32.
    for shape in ({"d_ff": "48"}, {"d_model": "130", "heads": "5", "d_ff": "100"},
                  {"d_model": "130", "heads": "5", "kv_heads": "1", "d_ff": "31"}):
        yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32",
               "optimizer": "lion,adam8bit,adam-mini,muon", "context_length": "7", **shape}
    for how in ({"weights": "bf16", "master_weights": "none,fp32"},
                {"weights": "bf16", "rounding": "stochastic"}, {"release_gradients": "true"}):
        yield {"device": "virtual:h200", "profile_type": "training", "context_length": "7",
               "optimizer": "lion,adam8bit,adam-mini,muon", **how}


def grids_of_checkpointing():
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,bf16",
           "attention": "eager,sdpa", "context_length": "33", "checkpoint": CHECKPOINTS}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,bf16",
           "context_length": "33", "checkpoint": "full,every:2,selective", "micro_batches": "3"}
    yield {"device": "virtual:h200", "profile_type": "training", "weights": "bf16",
           "context_length": "33", "checkpoint": CHECKPOINTS, "activations": "exact,fp8:min=0"}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,bf16",
           "context_length": "33", "checkpoint": "full,every:2,blocks:50%,selective",
           "activations": "int8:block=100,min=0"}
    yield {"device": "virtual:h200", "profile_type": "training", "weights": "bf16",
           "attention": "eager,sdpa", "context_length": "33",
           "checkpoint": "full,every:2,blocks:50%,selective"}


def grids_of_fp8():
    # FP8 products need tokens in multiples of 16: three sequences of 16 or 48.
    fp8 = {"profile_type": "training", "precision": "fp8", "context_length": "16"}
    yield {**fp8, "device": "virtual:h100-80gb,virtual:rtx4090", "context_length": "16,48",
           "attention": "eager,sdpa", "kv_heads": "2,4"}
    yield {**fp8, "device": "virtual:h200", "profile_type": "forward-grad,forward-backward",
           "attention": "eager,math"}
    yield {**fp8, "device": "virtual:h200", "checkpoint": CHECKPOINTS,
           "activations": "exact,int8:block=100,min=0"}
    yield {**fp8, "device": "virtual:h200", "micro_batches": "3", "max_grad_norm": "1"}
    yield {**fp8, "device": "virtual:h200", "release_gradients": "true", "attention": "eager,sdpa"}


BESIDES = {"tied_embeddings": "true", "qkv_bias": "true", "qk_norm": "true", "head_dim": "40",
           "kv_heads": "2", "device": "virtual:h200", "profile_type": "training"}


def grids_of_layers_besides():
    each = {**BESIDES, "tied_embeddings": "false,true", "qkv_bias": "false,true",
            "qk_norm": "false,true", "head_dim": "0,40", "context_length": "33"}
    yield {**each, "precision": PRECISIONS, "attention": "eager,sdpa"}
    yield {**each, "weights": "bf16", "master_weights": "none,fp32"}
    yield {**each, "precision": "fp32,bf16", "checkpoint": f"none,{CHECKPOINTS}",
           "activations": "exact,int8:min=0,offload:min=4KiB"}
    yield {**each, "release_gradients": "true", "precision": "fp32,bf16"}
    yield {**each, "precision": "fp32,bf16", "optimizer_offload": "cpu", "micro_batches": "1,3",
           "param_offload": "none,cpu"}
    # The largest consecutive gradients are in the blocks.
    yield {**each, "vocab_size": "50", "optimizer_offload": "cpu", "context_length": "7",
           "precision": "fp32,bf16"}
    yield {**each, "optimizer": "lion,adam8bit,adam-mini,muon", "max_grad_norm": "0,1",
           "context_length": "7"}
    yield {**each, "profile_type": "forward,forward-grad,forward-backward",
           "precision": "fp32,bf16"}
    yield {**BESIDES, "precision": "fp8", "context_length": "16", "checkpoint": "none,full",
           "head_dim": "0,48"}


def wide_grids():
    draw = random.Random(1)
    yield from quick_grids()
    yield from wide_grids_of_attention(draw)
    yield from wide_grids_of_activations(draw)
    yield from wide_grids_of_bf16_weights(draw)
    yield from wide_grids_of_steps()


def wide_grids_of_attention(draw):
    for card, kv_heads in (("b200", "2"), ("rtx4090", "4"), ("t4", "1")):
        yield {"device": f"virtual:{card}", "profile_type": "forward-grad,forward-backward,training",
               "precision": PRECISIONS, "attention": "eager,sdpa", "context_length": "1,50",
               "kv_heads": kv_heads, "layers": "5", "checkpoint": CHECKPOINTS}
    for card in ("h200", "b200", "a100-80gb", "rtx4090", "t4"):
        contexts = sorted(draw.sample(range(2, 200), 4))
        yield {"device": f"virtual:{card}", "profile_type": "training", "precision": PRECISIONS,
               "attention": "eager,sdpa", "context_length": ",".join(map(str, contexts))}
        yield {"device": f"virtual:{card}", "profile_type": "forward-backward",
               "precision": PRECISIONS, "attention": FORCED, "kv_heads": "2,4",
               "context_length": f"1,{contexts[0]}"}
    for width in ("800", "1200"):  # heads of 200 and 300 elements
        for card in ("h200", "rtx4090"):
            yield {"device": f"virtual:{card}", "profile_type": "forward-backward",
                   "precision": "fp32,bf16", "attention": "sdpa," + FORCED,
                   "context_length": "33", "d_model": width}
    # Heads of 6 elements, which flash pads: what it pads with stands in no row.
    yield {"device": "virtual:rtx4090", "profile_type": "forward-backward", "d_model": "24",
           "precision": "fp32,bf16", "attention": "math,efficient,cudnn", "context_length": "33"}
    for kv_heads in ("1", "2"):
        yield {"device": "virtual:h200", "profile_type": "forward-backward", "kv_heads": kv_heads,
               "precision": PRECISIONS, "attention": "eager,sdpa", "context_length": "1,31,64,97"}


def wide_grids_of_activations(draw):
    for card in ("h200", "a100-80gb", "t4"):
        contexts = sorted(draw.sample(range(2, 200), 3))
        yield {"device": f"virtual:{card}", "profile_type": "training,forward-grad",
               "precision": PRECISIONS, "attention": "eager,sdpa",
               "context_length": ",".join(map(str, contexts)), "kv_heads": "2,4",
               "activations": f"int8:min=0,fp8:block={draw.randrange(8, 300)},min=100KiB"}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32,fp16",
           "optimizer_impl": "reference,foreach,fused", "context_length": "7"}
    yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32",
           "optimizer": "sgd,lion", "optimizer_impl": "reference,foreach", "context_length": "7"}


def wide_grids_of_bf16_weights(draw):
    for card in ("h200", "b200", "a100-80gb", "rtx4090"):
        contexts = sorted(draw.sample(range(2, 200), 4))
        yield {"device": f"virtual:{card}", "profile_type": "forward-grad,training",
               "weights": "bf16", "master_weights": "none,fp32", "attention": "eager,sdpa",
               "context_length": ",".join(map(str, contexts))}
    for kv_heads in ("1", "2"):
        yield {"device": "virtual:h200", "profile_type": "forward-backward", "kv_heads": kv_heads,
               "weights": "bf16", "attention": "eager,sdpa", "context_length": "1,31,64,97"}
    yield {"device": "virtual:h200", "profile_type": "training", "weights": "bf16",
           "master_weights": "none,fp32", "optimizer": "adamw,sgd",
           "optimizer_impl": "reference,foreach,fused", "context_length": "7"}
    yield {"device": "virtual:h200", "profile_type": "training", "weights": "bf16",
           "rounding": "stochastic", "optimizer": "adamw,sgd",
           "optimizer_impl": "reference,foreach,fused", "context_length": "7"}


def wide_grids_of_steps():
    yield {"device": "virtual:h200,virtual:t4", "profile_type": "training", "precision": "fp32",
           "optimizer": "adamw,sgd", "optimizer_impl": "reference,foreach,fused",
           "release_gradients": "true", "context_length": "7", "kv_heads": "2"}
    for activations in ("exact", "int8:min=0"):
        yield {"device": "virtual:h200,virtual:a100-80gb", "profile_type": "forward-grad,training",
               "weights": "bf16", "attention": "eager,sdpa", "context_length": "1,50",
               "layers": "5", "kv_heads": "2", "checkpoint": CHECKPOINTS,
               "activations": activations}
    for parts in ("2", "6"):
        yield {"device": "virtual:a100-80gb", "profile_type": "training", "precision": PRECISIONS,
               "attention": "eager,sdpa", "batch_size": "6", "micro_batches": parts,
               "context_length": "1,64", "max_grad_norm": "0.5"}
    for steps in ({"warmup_steps": "0", "measure_steps": "0"}, {"warmup_steps": "0"}):
        yield {"device": "virtual:h200", "profile_type": "training", "precision": "fp32",
               "context_length": "7", **steps}


def values_of(text):
    """The values of a list; a comma inside a value stands before "min=" or "block="."""
    return re.split(r",(?![a-z]+=)", text)


def pairs_of(grids):
    """Grids of one cell: of each grid those in which every two values stand together once."""
    for grid in grids:
        yield from pairwise({name: values_of(text) for name, text in grid.items()})


def every_third_of_the_pairs(grids):
    for grid in grids:
        yield from list(pairs_of([grid]))[::3]


def first_and_last(text):
    """Of "A..B"."""
    first, last = map(int, text.split(".."))
    if not 1 <= first <= last:
        raise ValueError
    return first, last


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("headroom")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--grids", type=first_and_last, metavar="A..B")
    asked = parser.parse_args()
    headroom = str(Path(asked.headroom).resolve())
    grids = list(wide_grids() if asked.wide else every_third_of_the_pairs(quick_grids()))
    if asked.grids:
        first, last = asked.grids
        grids = grids[first - 1:last]
    cells = wrong = 0
    with WarmCells(headroom) as warm:
        for grid in grids:
            for record in sweep(warm, **grid):
                cells += 1
                found = differences(record) + clipping_differences(headroom, record)
                wrong += bool(found)
                for line in found:
                    print(f"{record['spec']['device']} {record['name']}: {line}")
    print(f"{cells - wrong} of {cells} cells are as theory says, to the byte")
    return 1 if wrong or not cells else 0


if __name__ == "__main__":
    sys.exit(main())
