#!/usr/bin/env python3
"""Theory's peak of a rank beside the virtual card's: within 0.5 %; and the bytes that its
collectives move, equal.

usage: mesh_peak_test.py HEADROOM [--draws N] [--seed N]

First meshes in which every two settings that may stand together do so: pipeline stages, replicas,
ranks that share matrices, and techniques of a step; without draws every second. Then N meshes (0) by chance, each with a step
of step_settings.py; every fourth is of a named size. Of a small mesh all ranks run together, of a
larger one four, each alone. Every third small mesh runs both ways, and the ranks have the same
figures. Prints every mesh and its rank of the largest difference.
"""

import argparse
import json
import math
import random
import subprocess
import sys

from pairwise import pairwise
from step_settings import draw_run, draw_settings

BOUND = 0.005
REFUSED = 2   # exit status
TOGETHER = 8  # ranks, up to which all run

SHAPE = {"model_size": "custom", "d_model": 128, "heads": 4, "d_ff": 320, "layers": 4,
         "vocab_size": 1000, "context_length": 64, "batch_size": 4, "profile_type": "training",
         "device": "virtual:h200", "warmup_steps": 1, "measure_steps": 1}
COVERED = {
    "pp": (1, 2), "dp": (1, 2, 4), "tp": (1, 2),
    "zero": (0, 1, 2, 3),
    "reshard_after_forward": ("always", "never"),
    "prefetch": (0, 1, 2),
    "shard_group": (0, 2),
    "bucket_bytes": (1, 25 << 20),
    "sequence_parallel": ("false", "true"),
    "schedule": ("1f1b", "gpipe", "interleaved:2"),
    "micro_batches": (1, 2, 4),
    "precision": ("fp32", "bf16"),
    "recompute": ("none", "full"),
    "activations": ("exact", "offload"),
    "optimizer": ("adamw", "adam8bit"),
    "max_grad_norm": (0, 1),
}
RULES = (
    ({"pp": (1,), "dp": (1,)}, {"tp": (2,)}),
    ({"pp": (1,)}, {"schedule": ("1f1b",)}),
    ({"schedule": ("interleaved:2",)}, {"micro_batches": (2, 4)}),
    ({"dp": (1,)}, {"zero": (0,), "bucket_bytes": (25 << 20,)}),
    ({"dp": (1, 2)}, {"shard_group": (0,)}),
    ({"tp": (1,)}, {"sequence_parallel": ("false",)}),
    ({"zero": (0,)}, {"shard_group": (0,)}),
    ({"zero": (1, 2, 3)}, {"bucket_bytes": (25 << 20,)}),
    ({"zero": (0, 1, 2)}, {"reshard_after_forward": ("always",), "prefetch": (1,)}),
)


def covered():
    """Cells of the cover, each with its number of ranks."""
    for row in pairwise(COVERED, RULES):
        sizes = {axis: row.pop(axis) for axis in ("pp", "dp", "tp")}
        yield ({**SHAPE, **row, "mesh": ",".join(f"{axis}={n}" for axis, n in sizes.items())},
               math.prod(sizes.values()))


def draw_mesh(draw, cell):
    """A mesh and its settings for this step; one rank where nothing fits."""
    pp, dp, tp = (draw.choice(sizes) for sizes in ((1, 1, 2, 3, 4), (1, 2, 3, 4, 8), (1, 1, 2, 4)))
    if cell["profile_type"] not in ("training", "forward-backward"):
        pp = 1
    mesh = {"mesh": f"pp={pp},dp={dp},tp={tp}"}
    if dp > 1:
        mesh["zero"] = draw.randrange(4)
        if mesh["zero"] == 3:
            mesh["reshard_after_forward"] = draw.choice(("always", "never"))
            mesh["prefetch"] = draw.choice((0, 1, 1, 2, 3))
        if mesh["zero"] > 0:
            mesh["shard_group"] = draw.choice([0, *(n for n in range(2, dp + 1) if dp % n == 0)])
        if mesh["zero"] == 0:
            mesh["bucket_bytes"] = draw.choice((1, 1 << 20, 25 << 20))
    if tp > 1 and cell["context_length"] % tp == 0:
        mesh["sequence_parallel"] = draw.choice(("true", "false"))
    if pp > 1:
        mesh["schedule"] = draw.choice(("1f1b", "gpipe", "interleaved:2"))
        parts = [n for n in (1, 2, 3, 4, 6, 8) if cell["batch_size"] % n == 0]
        mesh["micro_batches"] = draw.choice(parts)
    return mesh, pp * dp * tp


def draw_cell(draw, named):
    cell = draw_settings(draw, draw_run(draw, named))
    if named:
        cell["model_size"] = draw.choice(("small", "2.7B"))
    mesh, ranks = draw_mesh(draw, cell)
    cell = {**cell, **mesh}
    for name in ("optimizer_offload", "param_offload"):
        if cell.get(name, "none").startswith("nvme"):
            cell[name] = "cpu"
    # Settings that a mesh refuses.
    if "dp=1," not in cell["mesh"]:
        cell.pop("release_gradients", None)
    if cell.get("release_gradients") == "true":
        cell["micro_batches"] = 1
    if cell.get("zero", 0):
        cell.pop("param_offload", None)
    return cell, ranks


def flags_of(cell):
    return [f"--{name.replace('_', '-')}={value}" for name, value in cell.items()]


def run(headroom, cell, which):
    """The Record; None where the cell is refused or what it asks for does not run there."""
    command = [headroom, "profile", "--record-steps=0", "--stacks=none", "--format=json",
               f"--rank={which}", *flags_of(cell)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == REFUSED:
        return None
    if not done.stdout:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    record = json.loads(done.stdout)
    if record["status"] in ("unsupported", "oom"):
        return None
    if record["status"] != "ok":
        sys.exit(f"{' '.join(command)}\n{record['reason']}")
    if "Warning" in done.stderr:  # of libtorch's, which a rank that ran well has no reason for
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return record


def figures(record):
    return {rank["rank"]: (rank["allocated_bytes"], rank["predicted_bytes"])
            for rank in record["ranks"]}


def moved_otherwise(record):
    """Ranks whose collectives move what theory does not say."""
    return {rank["rank"]: (rank.get("moved_bytes", {}), rank.get("predicted_moved_bytes", {}))
            for rank in record["ranks"]
            if rank.get("moved_bytes", {}) != rank.get("predicted_moved_bytes", {})}


def which_of(ranks, some):
    """The ranks of --rank: all of a small mesh, which run together, or some, each alone."""
    return "all" if ranks <= TOGETHER else some


def draw_ranks(draw, ranks):
    return ",".join(map(str, sorted({0, ranks - 1, draw.randrange(ranks), draw.randrange(ranks)})))


def meshes(headroom, draw, draws):
    """Each cell with its number of ranks, some of them, and its Record."""
    for cell, ranks in list(covered())[:: 1 if draws else 2]:
        some = draw_ranks(draw, ranks)
        record = run(headroom, cell, which_of(ranks, some))
        if record is None:
            sys.exit(f"refused, or does not run: {' '.join(flags_of(cell))}")
        yield cell, ranks, some, record
    for number in range(draws):
        record = None
        while record is None:
            cell, ranks = draw_cell(draw, named=number % 4 == 3)
            some = draw_ranks(draw, ranks)
            record = run(headroom, cell, which_of(ranks, some)) if ranks > 1 else None
        yield cell, ranks, some, record


def judge(cell, ranks, record):
    """The verdict on a Record against theory, and its line."""
    of_ranks = figures(record)
    worst = max(of_ranks, key=lambda rank: abs(of_ranks[rank][1] / of_ranks[rank][0] - 1))
    measured, predicted = of_ranks[worst]
    moved = moved_otherwise(record)
    holds = abs(predicted / measured - 1) <= BOUND and not moved
    line = (f"{'ok  ' if holds else 'FAIL'} {predicted:>13,} {measured:>13,} "
            f"{100 * (predicted / measured - 1):+.4f} % rank {worst} of {ranks}: "
            f"{' '.join(flags_of(cell))}")
    return holds, f"{line}\n     moved, and moved by theory: {moved}" if moved else line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("headroom")
    parser.add_argument("--draws", type=int, default=0)
    parser.add_argument("--seed", type=int, default=16)
    arguments = parser.parse_args()
    done, failed, equal, ranks_seen = 0, 0, 0, 0
    draw = random.Random(arguments.seed)
    for cell, ranks, some, record in meshes(arguments.headroom, draw, arguments.draws):
        of_ranks = figures(record)
        holds, line = judge(cell, ranks, record)
        print(line, flush=True)
        if ranks <= TOGETHER and done % 3 == 0:
            alone = figures(run(arguments.headroom, cell, some))
            if any(alone[rank] != of_ranks[rank] for rank in alone):
                print("ranks that run alone have other figures:", alone)
                holds = False
        done += 1
        failed += not holds
        ranks_seen += len(of_ranks)
        equal += sum(measured == predicted for measured, predicted in of_ranks.values())
    print(f"{done} meshes, {ranks_seen} ranks, {equal} equal to the byte, {failed} not as theory says")
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
