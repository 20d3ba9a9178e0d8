"""The memory guides' configurations of many ranks, allocated rank by rank on virtual cards, as Markdown
tables from Records.

usage: parallel_table.py run HEADROOM NAME [CASE...]   Records, one a line; NAME is zero_7b, guide_70b or
                                                       guide_405b, CASE a number of it (all)
       parallel_table.py show NAME RECORDS             the table of such lines
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from one_run import record_of_run  # noqa: E402

GB, GIB = 10 ** 9, 1 << 30
# No card runs out of memory: what is short is counted.
COMMON = ("--profile-type training --warmup-steps 1 --measure-steps 1 --stacks none "
          "--rank distinct --device virtual:h100-80gb,bytes=1TiB")
MIXED = "--param-dtype bf16 --master-weights fp32"
PURE = "--param-dtype bf16"
FUSED = "--optimizer-impl fused"
KEPT = ("schema_version", "status", "reason", "spec", "peak_allocated_bytes", "peak_reserved_bytes",
        "peak_requested_bytes", "phases", "peak_phase", "categories_at_peak_bytes", "ranks")

# Each: states, stage or set-up, flags.
ZERO = [(states, stage, f"--model-size 7b --batch-size 1 --context-length 128 --attention sdpa "
                        f"--mesh dp=8 --zero {stage} {flags} {FUSED} --record-steps 1")
        for states, flags in (("bf16-pure", PURE), ("bf16-mixed", MIXED)) for stage in range(4)]
LARGE = "--attention flash --recompute full --record-steps 0"
OF_70B = f"--model-size 70b --context-length 4096 --batch-size 8 --micro-batches 8 {LARGE}"
GUIDE_70B = [
    ("bf16-pure", "the guide's: 8 cards, ZeRO-3", f"{OF_70B} --mesh dp=8 --zero 3 {PURE} {FUSED}"),
    ("bf16-mixed", "the same with FP32 masters and moments",
     f"{OF_70B} --mesh dp=8 --zero 3 {MIXED} {FUSED}"),
    ("bf16-pure", "8 cards, tp 8, sequence parallel",
     f"{OF_70B} --mesh tp=8 --sequence-parallel {PURE} {FUSED}"),
    ("bf16-mixed", "16 cards, tp 8, dp 2, ZeRO-3, sequence parallel, update tensor by tensor",
     f"{OF_70B} --mesh dp=2,tp=8 --zero 3 --sequence-parallel {MIXED}"),
]
OF_405B = (f"--model-size 405b --context-length 8192 --batch-size 5 --micro-batches 5 {LARGE} "
           f"--mesh pp=4,dp=4,tp=8 {FUSED}")
GUIDE_405B = [
    ("fp8", "the guide's: tp 8, pp 4, dp 4, ZeRO-1", f"{OF_405B} --zero 1 --precision fp8"),
    ("fp8", "ZeRO-3, sequence parallel", f"{OF_405B} --zero 3 --precision fp8 --sequence-parallel"),
]
TABLES = {"zero_7b": ZERO, "guide_70b": GUIDE_70B, "guide_405b": GUIDE_405B}
GUIDE_ZERO = ("56", "31.5", "19.25", "7")
REPLICAS = 8


def run(headroom, cases, numbers):
    """Only what the tables say, and what it was run with."""
    for number in numbers or range(len(cases)):
        flags = f"{COMMON} {cases[number][-1]} --format json"
        record = record_of_run([headroom, "profile", *flags.split()])
        kept = {key: record[key] for key in KEPT}
        environment = record["environment"]
        kept["environment"] = {"virtual_card": environment["virtual_card"],
                               "cell": {key: environment["cell"][key]
                                        for key in ("seconds", "max_rss_bytes")}}
        print(json.dumps(kept, separators=(",", ":")), flush=True)


def records_of(file):
    with open(file, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def fullest(record):
    return max(record["ranks"], key=lambda rank: rank["allocated_bytes"])


def gb(figure):
    return f"{figure / GB:.2f}"


def optimizer_bytes(live):
    return live.get("optimizer_state", 0) + live.get("master_weights", 0)


def rule(parameters, stage, states):
    """The guide's arithmetic: bytes per parameter of weights, gradients, optimizer, each of those that
    the stage shares divided by the replicas."""
    shared = (3, 2, 1)
    return sum(parameters * each / (REPLICAS if stage >= from_stage else 1)
               for each, from_stage in zip(states, shared))


def show_zero(records):
    print("| states | stage | the guide, GB | its rule for these parameters, GB | weights, GB | "
          "gradients, GB | optimizer, GB | together, GB | at the peak more weights, GB | more "
          "gradients, GB | beside them, GB | peak, GB | fullest in |\n"
          "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    whole = fullest(records[0])["phase_end_bytes"]["optimizer"]["parameters"] // 2
    for (states, stage, _), record in zip(ZERO, records):
        update = fullest(record)["phase_end_bytes"]["optimizer"]
        held = update["parameters"] + update["gradients"] + optimizer_bytes(update)
        pure = states == "bf16-pure"
        by_rule = rule(whole, stage, (2, 2, 4 if pure else 12))
        then = record["categories_at_peak_bytes"]
        peak = record["peak_allocated_bytes"]
        weights = then["parameters"] - update["parameters"]
        gradients = then["gradients"] - update["gradients"]
        print(f"| {states} | {f'ZeRO-{stage}' if stage else 'no ZeRO'} | "
              f"{GUIDE_ZERO[stage] if pure else '-'} | {gb(by_rule)} | {gb(update['parameters'])} | "
              f"{gb(update['gradients'])} | {gb(optimizer_bytes(update))} | {gb(held)} | "
              f"{gb(weights)} | {gb(gradients)} | {gb(peak - held - weights - gradients)} | "
              f"{gb(peak)} | {record['peak_phase']} |")
    padding = fullest(records[1])["moved_bytes"]["dp reduce_scatter"] - 2 * whole
    print("\nAllocated on virtual:h100-80gb, rank by rank; the fullest rank of each set-up. 7b has "
          f"{whole:,} parameters, the guide's 7e9. bf16-pure is the guide's sum, 2 + 2 + 4 bytes "
          "a parameter without master weights; bf16-mixed has FP32 master weights and "
          "moments, 2 + 2 + 12. Weights, gradients and optimizer are those live when the update "
          f"ends; padding of the units that replicas share is {padding:,} bytes of all of them. "
          "More "
          "weights at the peak: units that ZeRO-3 has gathered; more gradients: whole ones of two "
          "neighbouring units on their way to their owners, less those that do not exist yet; "
          "beside them: a gradient as autograd made it, activations of one sequence of 128 tokens, "
          "workspaces, and in an update of master weights the FP32 copies of all gradients. GB is "
          "10^9 bytes, as in the guide.")


def taken(record, rank):
    """Of the card: what the allocator reserved, the CUDA context, NCCL's buffers."""
    card = record["environment"]["virtual_card"]
    return rank["reserved_bytes"] + card["context_bytes"] + rank.get("nccl_bytes", 0)


def verdict(record, rank):
    spare = record["environment"]["virtual_card"]["real_total_bytes"] - taken(record, rank)
    return f"fits, {spare / GIB:.2f} to spare" if spare >= 0 else f"short by {-spare / GIB:.2f}"


def stages(record):
    """The ranks of each pipeline stage, by its number; the outermost axis of a mesh."""
    sizes = dict(part.split("=") for part in record["spec"]["mesh"].split(","))
    in_stage = int(sizes.get("dp", 1)) * int(sizes.get("tp", 1))
    by_stage = {}
    for rank in record["ranks"]:
        by_stage.setdefault(rank["rank"] // in_stage, []).append(rank)
    return by_stage


def theory_in_words(ranks):
    off = [rank["predicted_bytes"] - rank["allocated_bytes"] for rank in ranks]
    if not any(off):
        return "equal"
    return f"{max(off, key=abs):+,} B at most"


def show_guide(cases, records, what):
    print("| states | set-up | stage | ranks that differ | fullest rank | peak, GiB | the others' least, "
          "GiB | theory's peak of each | reserved, GiB | NCCL, GiB, assumed | with the context, GiB | "
          "80 GB card, GiB |\n"
          "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |")
    for (states, name, _), record in zip(cases, records):
        for stage, ranks in stages(record).items():
            rank = max(ranks, key=lambda one: taken(record, one))
            least = min(one["allocated_bytes"] for one in ranks)
            print(f"| {states} | {name} | {stage} | {len(ranks)} | {rank['rank']} | "
                  f"{rank['allocated_bytes'] / GIB:.3f} | {least / GIB:.3f} | "
                  f"{theory_in_words(ranks)} | {rank['reserved_bytes'] / GIB:.3f} | "
                  f"{rank['nccl_bytes'] / GIB:.2f} | {taken(record, rank) / GIB:.2f} | "
                  f"{verdict(record, rank)} |")
    print(f"\n{what} One rank of each kind was allocated alone, on "
          "virtual:h100-80gb with 1 TiB; a row shows the rank of its pipeline stage that needs "
          "most. The sum of the allocator's reserved memory, the CUDA context and NCCL's buffers "
          "is compared with the card's "
          f"{records[0]['environment']['virtual_card']['real_total_bytes'] / GIB:.2f} GiB.")


ABOUT = {
    "guide_70b": "70B, the guide's: BF16, ZeRO-3, full checkpointing, flash attention, 4,096 tokens, "
                 "{} micro-batches of one sequence; it says about 60 GB. bf16-pure: 2 + 2 + 4 bytes a "
                 "parameter; bf16-mixed: 2 + 2 + 12.",
    "guide_405b": "405B, the guide's: FP8, flash attention, checkpointing, 128 cards; here with 8,192 "
                  "tokens and {} micro-batches of one sequence under 1F1B, one more than there are "
                  "stages: the second backward has all gradients beside as many micro-batches as are "
                  "ever in flight. fp8 is FP8 products over FP32 weights, gradients and moments.",
}


def main():
    what, *words = sys.argv[1:]
    if what == "run":
        headroom, name, *numbers = words
        return run(headroom, TABLES[name], [int(number) for number in numbers])
    name, file = words
    if name == "zero_7b":
        return show_zero(records_of(file))
    records = records_of(file)
    about = ABOUT[name].format(records[0]["spec"]["micro_batches"])
    return show_guide(TABLES[name], records, about)


if __name__ == "__main__":
    main()
