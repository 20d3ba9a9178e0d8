#!/usr/bin/env python3
"""Allocator requests of a rank that runs alone, beside its requests with all four ranks:
the same events in the same order.

usage: rank_events_test.py HEADROOM [PROGRAM ...]     PROGRAM: fsdp2, ddp, tensor_parallel, pipeline

Runs under the Python whose torch the programs use; without one it is skipped (77).
"""

from __future__ import annotations

import importlib.util
import json
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM = str(Path(sys.argv[1]).absolute())
PROGRAMS = Path(__file__).resolve().parents[1] / "programs" / "distributed"
RANKS = 4
LAUNCHER = (str(PROGRAMS.parent / "processes/forked.py"), str(RANKS))  # imports torch once for all ranks
ARGUMENTS = {"fsdp2": [], "ddp": [], "tensor_parallel": [], "pipeline": ["1f1b", "--shapes"]}
WANTED = sys.argv[2:] or list(ARGUMENTS)
# When DDP's buckets are let go of a thread of libtorch's decides, the watchdog: what is asked for is
# in order, what is given back is not.
ASKED = {"alloc"}
ALL = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free"}


def events_of(program: str, *job: str, launcher: tuple[str, ...] = ()) -> dict[int, list]:
    """Rank to its allocator's events, as (action, bytes)."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        command = [HEADROOM, "dryrun", "--card", "h100-80gb", *job, "--json", str(report),
                   "--snapshot", str(Path(scratch, "rank.pickle")), "--", sys.executable, *launcher,
                   str(PROGRAMS / f"{program}.py"), *ARGUMENTS[program]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=scratch)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        events = {}
        for process in json.loads(report.read_text())["processes"]:
            snapshot = pickle.loads(Path(process["snapshot"]).read_bytes())
            (device,) = process["devices"]
            kept = ASKED if program == "ddp" else ALL
            events[process["rank"]] = [(event["action"], event["size"])
                                       for event in snapshot["device_traces"][device["ordinal"]]
                                       if event["action"] in kept]
        return events


class RankEvents(unittest.TestCase):
    def test_a_rank_alone_asks_what_it_asks_with_all_there(self):
        for program in WANTED:
            with self.subTest(program):
                together = events_of(program, f"--gpus={RANKS}", launcher=LAUNCHER)
                alone = events_of(program, f"--world-size={RANKS}", f"--rank=0-{RANKS - 1}")
                self.assertEqual(sorted(together), list(range(RANKS)))
                for rank, events in together.items():
                    self.assertGreater(len(events), 50)
                    self.assertEqual(alone[rank], events, f"rank {rank}")


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
