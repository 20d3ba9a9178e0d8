#!/usr/bin/env python3
"""Weak scaling on paper: what ranks move in a step, over which links, beside the arithmetic.

usage: scale_table.py HEADROOM CARD RECORDS                   runs what RECORDS lacks (JSON lines)
       scale_table.py HEADROOM CARD RECORDS --print formulas|times

One rank of each mesh runs alone on a virtual card; bytes and calls are what it moved. Dimensions
are headroom theory's, rates of the card headroom cards', of its links cards/links.json's.
"""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

HEADROOM, CARD, RECORDS = sys.argv[1], sys.argv[2], Path(sys.argv[3])
LINKS = json.loads((Path(__file__).resolve().parents[2] / "cards" / "links.json").read_text())[CARD]
SIZES = ("7b", "70b", "405b")
CARDS = (8, 64, 1024)
CONTEXT = 4096
TOKENS_PER_CARD = 4096  # the same on every number of cards
MICRO_BATCHES_PER_STAGE = 4
# Name, flags, cards of a replica along tp and pp.
SCHEMES = (
    ("ZeRO-3", ["--zero", "3"], 1, 1),
    ("tp 8, ZeRO-3", ["--zero", "3", "--sequence-parallel"], 8, 1),
    ("tp 8, pp 8, ZeRO-1", ["--zero", "1", "--sequence-parallel"], 8, 8),
)
STATES = ["--param-dtype", "bf16", "--master-weights", "fp32", "--attention", "sdpa",
          "--optimizer-impl", "fused", "--recompute", "full"]
HOW = ["--profile-type", "training", "--warmup-steps", "0", "--measure-steps", "1",
       "--record-steps", "0", "--stacks", "none"]
WEIGHT_BYTES = 2


def answer(*words):
    done = subprocess.run([HEADROOM, *words], capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(f"scale_table.py: {' '.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


@cache
def dimensions(size):
    """By the letters of theory's first table: {"D": 4096, ...}, "parameters" too."""
    rows = answer("theory", "--model-size", size, "--context-length", str(CONTEXT), "--batch-size",
                  "1", "--format", "json")[0]["rows"]
    return {row["quantity"].split()[0].rstrip(","): int(str(row["value"]).replace(",", ""))
            for row in rows}


@cache
def card():
    return answer("cards", CARD, "--format", "json")["cards"][0]


def cases():
    for size in SIZES:
        for cards in CARDS:
            for name, flags, tp, pp in SCHEMES:
                if cards % (tp * pp) == 0:
                    yield size, cards, name, flags, tp, pp


def request(size, cards, flags, tp, pp):
    replica = tp * pp
    dp = cards // replica
    axes = {"pp": pp, "dp": dp, "tp": tp}
    mesh = ",".join(f"{axis}={ranks}" for axis, ranks in axes.items() if ranks > 1)
    if dp == 1:
        flags = [word for word in flags if word != "--zero" and not word.isdigit()]
    batch = replica * TOKENS_PER_CARD // CONTEXT
    micro = min(batch, MICRO_BATCHES_PER_STAGE * pp) if pp > 1 else 1
    return ["profile", "--model-size", size, "--context-length", str(CONTEXT), "--batch-size",
            str(batch), "--micro-batches", str(micro), "--mesh", mesh, *flags, *STATES, *HOW,
            "--device", f"virtual:{CARD},bytes=1TiB", "--rank", "0", "--format", "json"]


def run_all():
    RECORDS.parent.mkdir(parents=True, exist_ok=True)
    known = {json.dumps(row["words"]) for row in rows()}
    for size, cards, name, flags, tp, pp in cases():
        words = request(size, cards, flags, tp, pp)
        if json.dumps(words) in known:
            continue
        print(f"{size} on {cards}: {name}", file=sys.stderr)
        record = answer(*words)
        if record["status"] != "ok":
            sys.exit(f"scale_table.py: {' '.join(words)}: {record['reason']}")
        (rank,) = record["ranks"]
        row = {"size": size, "cards": cards, "scheme": name, "tp": tp, "pp": pp,
               "sequences": record["spec"]["batch_size"],
               "micro_batches": record["spec"]["micro_batches"],
               "reserved_bytes": rank["reserved_bytes"], "bytes": rank["moved_bytes"],
               "calls": rank["moved_calls"], "build": record["environment"]["build"],
               "words": words}
        with RECORDS.open("a") as file:
            file.write(json.dumps(row) + "\n")


def rows():
    if not RECORDS.exists():
        return []
    return [json.loads(line) for line in RECORDS.read_text().splitlines()]


def arithmetic(row):
    """Seconds of a card at its dense BF16 peak: profiling/flops.h, of a stage's part of a replica;
    backward's second forward (--recompute full) is not useful, but is done."""
    d = dimensions(row["size"])
    kv = d["G"] * d["K"]
    block = 2 * d["D"] ** 2 + 2 * d["D"] * kv + 3 * d["D"] * d["F"]
    tokens = row["sequences"] * CONTEXT
    per_token = 6 * (d["L"] * block + d["V"] * d["D"]) + 6 * d["L"] * d["D"] * CONTEXT
    flops = per_token * tokens / (row["tp"] * row["pp"])
    return flops / (card()["peak_tflops"]["bf16"] * 1e12)


def link_seconds(row, axis, kind, moved):
    """At least, of a collective of `moved` bytes in all: what a card takes in over NVLink, and what
    its machine does over the network."""
    ranks = {"tp": row["tp"], "pp": row["pp"],
             "dp": row["cards"] // (row["tp"] * row["pp"])}[axis]
    if kind == "send":  # to the next stage, which stands on another machine
        return moved / LINKS["network"]
    # Ranks on one machine: tp first, then replicas.
    here = min(ranks, LINKS["cards_per_machine"] // (row["tp"] if axis == "dp" else 1))
    machines = -(-ranks // max(here, 1))
    twice = 2 if kind == "all_reduce" else 1
    inside = moved * (here - 1) / here / LINKS["nvlink"] if here > 1 else 0
    outside = moved * (machines - 1) / machines / (here * LINKS["network"])
    return twice * max(inside, outside)


def axis_seconds(row):
    seconds = {}
    for kind, moved in row["bytes"].items():
        axis, what = kind.split()
        seconds[axis] = seconds.get(axis, 0) + link_seconds(row, axis, what, moved)
    return seconds


def breaks(row):
    """The terms that exceed the arithmetic, if any; terms that run at once (tp) add to it."""
    compute, seconds = arithmetic(row), axis_seconds(row)
    hidden = {axis: time for axis, time in seconds.items() if axis != "tp"}
    worst = max(hidden, key=hidden.get, default=None)
    if worst is not None and hidden[worst] > compute:
        return worst
    return "tp" if seconds.get("tp", 0) > compute else "nothing"


def milliseconds(seconds):
    return f"{seconds * 1e3:.1f}" if seconds is not None else ""


def times():
    print("| model | cards | scheme | arithmetic, ms | dp, ms | tp, ms | pp, ms | longer than the "
          "arithmetic | dp hides from, tokens a card | least step, ms | dp calls | smallest message, "
          "MiB | peak, GiB |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for row in rows():
        seconds, compute = axis_seconds(row), arithmetic(row)
        bubble = (row["pp"] - 1) / row["micro_batches"]
        least = max(compute * (1 + bubble) + seconds.get("tp", 0), seconds.get("dp", 0),
                    seconds.get("pp", 0))
        print("| " + " | ".join([
            row["size"], str(row["cards"]), scheme_of(row), milliseconds(compute),
            *(milliseconds(seconds.get(axis)) for axis in ("dp", "tp", "pp")), breaks(row),
            f"{TOKENS_PER_CARD * seconds['dp'] / compute:,.0f}" if "dp" in seconds else "",
            milliseconds(least), dp_calls(row), smallest_message(row),
            f"{row['reserved_bytes'] / 2**30:.1f}"]) + " |")


def scheme_of(row):
    """Without what replicas share where there is one."""
    has_replicas = row["cards"] > row["tp"] * row["pp"]
    return row["scheme"] if has_replicas else row["scheme"].rsplit(", ZeRO", 1)[0]


def dp_calls(row):
    calls = sum(count for kind, count in row["calls"].items() if kind.startswith("dp "))
    return str(calls) if calls else ""


def smallest_message(row):
    """Of a ring over the replicas: a call's bytes over its ranks."""
    dp = row["cards"] // (row["tp"] * row["pp"])
    sizes = [moved / row["calls"][kind] / dp for kind, moved in row["bytes"].items()
             if kind in ("dp all_gather", "dp reduce_scatter")]
    return f"{min(sizes) / 2**20:.2f}" if sizes else ""


def expected(row):
    """Bytes by kind, by the formulas of docs/planning/scale.md; a model's flat units are padded."""
    d = dimensions(row["size"])
    tp, pp = row["tp"], row["pp"]
    dp = row["cards"] // (tp * pp)
    layers = d["L"] // pp
    stream = row["sequences"] * CONTEXT * d["D"] * WEIGHT_BYTES
    block = (2 * d["D"] ** 2 + 2 * d["D"] * d["G"] * d["K"] + 3 * d["D"] * d["F"]) / tp
    outer = (2 if pp == 1 else 1) * d["V"] * d["D"] / tp
    said = {}
    if dp > 1:
        once = WEIGHT_BYTES * (layers * block + outer)
        again = WEIGHT_BYTES * (layers - 1) * block if "ZeRO-3" in row["scheme"] else 0
        said = {"dp reduce_scatter": once, "dp all_gather": once + again}
    if tp > 1:  # forward, again forward for backward (its last sum is nobody's), backward
        ends = 2 if pp == 1 else 1  # the table's and the head's
        said["tp all_gather"] = (6 * layers + ends) * stream
        said["tp reduce_scatter"] = (5 * layers + ends) * stream
    if pp > 1:
        said["pp send"] = stream / tp
    return said


def formulas():
    """Bytes by formula beside bytes that a rank moved: the largest difference of each kind."""
    print("| quantity | by formula, largest case | moved | difference |")
    print("| --- | ---: | ---: | ---: |")
    worst = {}
    for row in rows():
        for kind, said in expected(row).items():
            moved = row["bytes"].get(kind, 0)
            off = abs(moved - said) / said
            if kind not in worst or off > worst[kind][0]:
                worst[kind] = (off, said, moved, row)
    for kind, (off, said, moved, row) in sorted(worst.items()):
        print(f"| {kind}, {row['size']} on {row['cards']}, {row['scheme']} | {said:,.0f} | "
              f"{moved:,} | {100 * (moved - said) / said:+.2f} % |")


if __name__ == "__main__":
    if "--print" in sys.argv:
        {"formulas": formulas, "times": times}[sys.argv[sys.argv.index("--print") + 1]]()
    else:
        run_all()
