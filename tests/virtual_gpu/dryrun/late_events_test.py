#!/usr/bin/env python3
"""headroom dryrun --events: what is done at once and what is done when the host waits, in whole programs.

usage: late_events_test.py HEADROOM

Runs under the Python whose torch the programs use; without one it is skipped (77).
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, at_night  # noqa: E402

HEADROOM = str(Path(sys.argv[1]).absolute())
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
RANKS = 4 if IS_NIGHT else 2
LAUNCHER = str(PROGRAMS / "processes/forked.py")  # imports torch once for all ranks
ARGUMENTS = {"fsdp2": [], "ddp": [], "pipeline": ["1f1b", "--shapes"]}
WANTED = list(ARGUMENTS) if IS_NIGHT else ["pipeline"]
# A DDP bucket that libtorch's watchdog thread gives back before or after the next is made, whatever the events.
DDP_BUCKET = 32 << 20


def run(*arguments: str, events: str, count: int = 1, code: int = 0) -> tuple[str, str, dict]:
    """Its output, the report as text, and as a document."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        command = [HEADROOM, "dryrun", "--card", "h100-80gb", "--gpus", str(count), "--events", events, "--json",
                   str(report), "--", sys.executable, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=scratch)
        if done.returncode != code:
            raise AssertionError(done.stderr)
        return done.stdout, done.stderr, json.loads(report.read_text())


def allocators(document: dict) -> list[dict]:
    return [device["allocator"] for process in document["processes"] for device in process["devices"]]


class LateEvents(unittest.TestCase):
    def test_blocks_of_another_stream_come_back_when_its_event_is_done(self):
        program = (str(PROGRAMS / "processes/quick_end.py"), str(PROGRAMS / "cuda/recorded_blocks.py"))
        both, text, document = run(*program, events="both")  # one after the other, and ranges are printed
        found = [line.split(": ")[1] for line in both.splitlines()]
        self.assertEqual(found, ["64", "64", "66", "66", "True", "256", "256", "322", "322", "True"])
        self.assertIn("68.000 MiB to 324.000 MiB", text)
        self.assertIn("with late events exit code 0", text)
        self.assertEqual((document["events"], document["late"]["events"]), ("both", "late"))

    def test_short_steps_hold_the_collectives_of_one_step(self):
        """Of the last: libtorch frees them at the next collective, if the watchdog has looked by then."""
        out, _, _ = run(LAUNCHER, "2", str(PROGRAMS / "ranks/short_steps.py"), events="done", count=2)
        left = [line for line in out.splitlines() if line.startswith("left:")]
        self.assertEqual(left, [f"left: {20 << 20}"] * 40)

    def test_a_program_that_leaves_its_group_standing_ends_as_on_a_card(self):
        out, err, _ = run(LAUNCHER, "2", str(PROGRAMS / "ranks/left_group.py"), events="late", count=2)
        self.assertEqual(out.count("the last line"), 2)
        self.assertNotIn("watchdog thread terminated", err)

    @at_night
    def test_a_watchdog_that_outlives_libtorch_aborts_nothing(self):
        out, err, _ = run(str(PROGRAMS / "processes/slow_ending.py"), events="late", code=1)
        self.assertIn("the last line", out)
        self.assertNotIn("watchdog thread terminated", err)

    @at_night
    def test_captured_graphs_and_timed_events_work_with_late_events(self):
        run(str(PROGRAMS / "cuda/graphs.py"), events="late")

    def test_jobs_of_several_ranks_end_and_reserve_no_less(self):
        for program in WANTED:
            with self.subTest(program):
                path = str(PROGRAMS / "distributed" / f"{program}.py")
                _, text, document = run(LAUNCHER, str(RANKS), path, *ARGUMENTS[program], events="both", count=RANKS)
                least, most = allocators(document), allocators(document["late"])
                self.assertEqual((len(least), len(most)), (RANKS, RANKS))
                kept = DDP_BUCKET if program == "ddp" else 0
                for early, late in zip(least, most, strict=True):
                    for peak in ("peak_allocated_bytes", "peak_reserved_bytes"):
                        self.assertGreaterEqual(late[peak] + kept, early[peak])
                if program == "pipeline":
                    self.assertTrue(all(early["peak_reserved_bytes"] < late["peak_reserved_bytes"]
                                        for early, late in zip(least, most, strict=True)))
                    self.assertIn(" MiB to ", text)


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
