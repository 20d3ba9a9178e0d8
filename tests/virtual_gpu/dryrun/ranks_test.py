#!/usr/bin/env python3
"""`headroom dryrun` on programs of several ranks, programs/ranks/ranks.py.

usage: ranks_test.py HEADROOM

Runs under the Python whose torch the programs use; without one it is skipped (77).
"""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, at_night, share_by_day  # noqa: E402

HEADROOM = str(Path(sys.argv[1]).absolute())
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
LAUNCHERS = {  # the second one imports torch once for all ranks
    "torchrun": lambda count: ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"],
    "fork": lambda count: [str(PROGRAMS / "processes/forked.py"), str(count)],
}
QUICK = [str(PROGRAMS / "processes/quick_end.py")]
LAYERS, LAYER_BYTES, RANKS, STEPS = 4, 1024 * 1024 * 4, 2, 2


class Result:
    def __init__(self, *arguments: str, program: str = "ranks/ranks.py", count: int = RANKS,
                 job: list[str] | None = None, launcher: str = "fork"):
        """On `count` cards by the launcher, or as single ranks of `job` without one."""
        launch = [sys.executable, *(LAUNCHERS[launcher](count) if job is None else QUICK)]
        with tempfile.TemporaryDirectory() as scratch:
            report = Path(scratch, "report.json")
            command = [HEADROOM, "dryrun", "--card", "h100-80gb",
                       *(job or [f"--gpus={count}"]), "--json", str(report), "--", *launch,
                       str(PROGRAMS / program)]
            done = subprocess.run([*command, *arguments], capture_output=True, text=True,
                                  timeout=300, cwd=scratch)
            self.code, self.err = done.returncode, done.stderr
            self.document = json.loads(report.read_text())
            self.ranks = self.document["processes"]


@functools.cache
def launched(kind: str) -> Result:
    """Run once, whoever asks."""
    return Result(kind, launcher="torchrun" if kind == "fsdp" and IS_NIGHT else "fork")


def collectives(communicator: dict) -> dict[str, tuple[int, int]]:
    """Kind to calls and bytes."""
    return {one["kind"]: (one["calls"], one["bytes"]) for one in communicator["collectives"]}


class Ranks(unittest.TestCase):
    def result(self, kind: str) -> Result:
        result = launched(kind)
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual([rank["rank"] for rank in result.ranks], [0, 1], result.err)
        taken = [rank["devices"][0]["peak_bytes"] for rank in result.ranks]
        self.assertIn(f"fullest: rank {taken.index(max(taken))}, ", result.err)
        for rank in result.ranks:
            self.assertEqual(rank["world_size"], RANKS)
            self.assertEqual([d["ordinal"] for d in rank["devices"]], [rank["rank"]])
            self.assertIn(f"rank {rank['rank']} of 2: NCCL, ", result.err)
            self.assertEqual(rank["not_supported"], [])
        return result

    def test_fsdp_gathers_each_layer_twice_a_step_and_scatters_its_gradient_once(self):
        for rank in self.result("fsdp").ranks:
            (communicator,) = rank["communicators"]
            self.assertEqual((communicator["size"], communicator["rank"]), (RANKS, rank["rank"]))
            done = collectives(communicator)
            self.assertEqual(done["reduce_scatter"], (STEPS * LAYERS, STEPS * LAYERS * LAYER_BYTES))
            calls, moved = done["all_gather"]
            self.assertEqual(moved, calls * LAYER_BYTES)
            self.assertEqual(calls, STEPS * 2 * LAYERS)

    @at_night
    def test_ddp_compares_its_ranks_and_reduces_each_gradient_once_a_step(self):
        for rank in self.result("ddp").ranks:
            (communicator,) = rank["communicators"]
            done = collectives(communicator)
            moved = done["all_reduce"][1]
            self.assertGreaterEqual(moved, STEPS * LAYERS * LAYER_BYTES)
            self.assertLess(moved, STEPS * LAYERS * LAYER_BYTES + 4096)  # and the barrier

    def test_ranks_tell_each_other_what_the_host_wrote_and_what_kernels_made_of_it(self):
        for count in share_by_day((RANKS, 1)):
            result = Result(program="ranks/rank_values.py", count=count)
            self.assertEqual(result.code, 0, result.err)

    def test_a_program_that_opens_nccl_by_name_gets_the_stand_in(self):
        result = Result(program="ranks/nccl_by_name.py", count=1)
        self.assertEqual(result.code, 0, result.err)
        (communicator,) = result.ranks[0]["communicators"]
        self.assertEqual(collectives(communicator), {"all_reduce": (1, 16)})

    @at_night
    def test_a_split_group_has_its_own_size(self):
        for rank in self.result("split").ranks:
            world, part = rank["communicators"]
            self.assertEqual((world["size"], part["size"]), (RANKS, RANKS))
            self.assertEqual(collectives(part)["all_reduce"], (1, 4000))


def alone(*arguments: str, world: int, ranks: str, program: str = "ranks/ranks.py") -> Result:
    return Result(*arguments, program=program, job=["--world-size", str(world), "--rank", ranks])


def taken(process: dict) -> dict:
    """The memory that a rank took of its card, and its calls of NCCL."""
    (device,) = process["devices"]
    names = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_requested_bytes")
    return {
        **{name: device["allocator"][name] for name in names},
        "allocations": device["allocations"],
        "traffic": [collectives(one) for one in process["communicators"]],
    }


class AloneRanks(unittest.TestCase):
    @at_night
    def test_a_rank_alone_takes_what_it_takes_beside_the_others(self):
        together = {rank["rank"]: taken(rank) for rank in launched("fsdp").ranks}
        result = alone("fsdp", world=RANKS, ranks="0-1")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual({rank["rank"]: taken(rank) for rank in result.ranks}, together)

    @at_night
    def test_ddp_alone_moves_what_it_moves_beside_the_others(self):
        # The peak is one of two: old buckets go when a thread of libtorch's has looked at them.
        together = {rank["rank"]: taken(rank)["traffic"] for rank in launched("ddp").ranks}
        result = alone("ddp", world=RANKS, ranks="1")
        self.assertEqual(result.code, 0, result.err)
        (rank,) = result.ranks
        self.assertEqual(taken(rank)["traffic"], together[1])

    @at_night
    def test_the_first_and_the_last_of_64_ranks_run_alone_and_the_report_says_so(self):
        result = alone("fsdp", world=64, ranks="0,63")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(sorted(rank["rank"] for rank in result.ranks), [0, 63])
        self.assertEqual({rank["world_size"] for rank in result.ranks}, {64})
        self.assertIn("of 64 ranks each of these ran alone", result.err)
        for rank in result.ranks:
            self.assertEqual(rank["communicators"][0]["size"], 64)
            self.assertEqual([one["ordinal"] for one in rank["devices"]], [rank["rank"] % 8])

    def test_one_rank_of_each_stage_stands_for_the_ranks_that_are_like_it(self):
        for stages, kinds, line in share_by_day((
            (2, [(0, "0-5"), (6, "6-11")], "rank 6 stands for 6 ranks: 6-11"),
            (4, [(0, "0-5"), (6, "6-17"), (18, "18-23")], "rank 6 stands for 12 ranks: 6-17"),
        )):
            job = ["--world-size", str(6 * stages), "--ranks", "distinct"]
            result = Result(str(stages), "3", "2", program="ranks/rank_grid.py", job=job)
            self.assertEqual(result.code, 0, result.err)
            found = [(kind["rank"], kind["ranks"]) for kind in result.document["kinds"]]
            self.assertEqual(found, kinds)
            self.assertEqual([rank["rank"] for rank in result.ranks], [rank for rank, _ in kinds])
            self.assertIn(line, result.err)

    def test_absent_ranks_echo_objects_and_a_group_on_the_host_is_alone_too(self):
        result = alone(world=16, ranks="5", program="ranks/rank_alone.py")
        self.assertEqual(result.code, 0, result.err)

    def test_an_object_from_a_rank_that_did_not_run_is_refused_with_the_flag_that_helps(self):
        result = alone(world=4, ranks="2", program="distributed/pipeline.py")
        self.assertEqual(result.code, 5, result.err)
        (line,) = [line for line in result.err.splitlines() if "waits for an object" in line]
        self.assertIn("--rank 1,2", line)
        self.assertNotIn("Traceback", result.err)
        if IS_NIGHT:
            told = alone("--shapes", world=4, ranks="2", program="distributed/pipeline.py")
            self.assertEqual(told.code, 0, told.err)

    def test_ranks_outside_of_the_world_are_refused_in_one_line(self):
        for flags, said in (
            (["--world-size", "4", "--rank", "4"], "--rank"),
            (["--world-size", "4", "--rank", "1,,2"], "--rank"),
            (["--rank", "0"], "--world-size"),
            (["--world-size", "0"], "--world-size"),
            (["--ranks", "distinct"], "--world-size"),
            (["--world-size", "4", "--ranks", "all"], "--ranks"),
            (["--world-size", "4", "--ranks", "distinct", "--rank", "0"], "--ranks"),
        ):
            done = subprocess.run(
                [HEADROOM, "dryrun", "--card", "h100-80gb", *flags, "--", "true"],
                capture_output=True, text=True, timeout=60,
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
