#!/usr/bin/env python3
"""Ranks that do not belong together: each ends with one line that says which differs in what, or who
is missing.

usage: mesh_meeting_test.py HEADROOM
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from cells import free_port

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import share_by_day  # noqa: E402

HEADROOM = sys.argv[1]
CELL = str(Path(HEADROOM).parent / "headroom-cell")
SPEC = {"model_size": "custom", "d_model": 64, "d_ff": 128, "layers": 2, "heads": 4,
        "vocab_size": 97, "context_length": 32, "batch_size": 2, "device": "cpu",
        "profile_type": "training", "record_steps": 0, "warmup_steps": 0, "measure_steps": 1,
        "mesh": "dp=2", "threads": 1}
OF_LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT",
                "TORCHELASTIC_USE_AGENT_STORE")
PATIENCE = 240  # seconds
SOON = 300


def environment(**variables):
    kept = {name: value for name, value in os.environ.items() if name not in OF_LAUNCHERS}
    return {**kept, "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1",
            "HEADROOM_RANK_PATIENCE_MS": str(1000 * PATIENCE), **variables}


class Ranks:
    """headroom-cell as a launcher starts it, one after the other; their Records."""

    def __init__(self):
        self.port = str(free_port())
        self.processes = []

    def start(self, rank, ranks=2, program=CELL, variables=None, **spec):
        names = variables or {"RANK": str(rank), "WORLD_SIZE": str(ranks)}
        process = subprocess.Popen(
            [program], env=environment(MASTER_PORT=self.port, **names), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(json.dumps({"spec": {**SPEC, **spec}}) + "\n")
        process.stdin.flush()
        self.processes.append(process)
        return self

    def records(self):
        return [json.loads(process.communicate(timeout=SOON)[0]) for process in self.processes]


def other_build(directory):
    """The same program with another revision in it."""
    revision = json.loads(subprocess.run([CELL, "--identity"], capture_output=True, text=True,
                                         check=True).stdout)["build"]
    other = ("f" if revision[0] != "f" else "e") + revision[1:]
    program = Path(directory) / "headroom-cell"
    content = Path(CELL).read_bytes()
    # The text as the compiler stores it: in one piece, or the bytes that a register takes first.
    length = next(size for size in (len(revision), 16, 8) if revision[:size].encode() in content)
    program.write_bytes(content.replace(revision[:length].encode(), other[:length].encode()))
    shutil.copymode(CELL, program)
    return str(program), revision, other


class Meeting(unittest.TestCase):
    def check(self, ranks, line):
        began = time.monotonic()
        records = ranks.records()
        self.assertEqual([record["status"] for record in records], ["usage"] * len(records))
        for record in records:
            self.assertIn(line, record["reason"])
            self.assertNotIn("\n", record["reason"])
        self.assertLess(time.monotonic() - began, PATIENCE / 2, "they waited for each other")

    def test_a_rank_with_another_setting_is_named_by_all_with_both_values(self):
        for key, value, line in share_by_day((
                ("mesh", "tp=2", "rank 1 differs from rank 0 in --mesh: tp=2 against dp=2; "),
                ("zero", 2, "rank 1 differs from rank 0 in --zero: 2 against 0; "),
                ("measure_steps", 2, "rank 1 differs from rank 0 in --measure-steps: 2 against ")), step=3):
            with self.subTest(key):
                self.check(Ranks().start(0).start(1, **{key: value}), line)

    def test_of_three_ranks_the_third_is_named_by_the_first_two_as_well(self):
        ranks = Ranks()
        for rank in range(3):
            ranks.start(rank, ranks=3, mesh="dp=3", seed=7 if rank == 2 else 1)
        self.check(ranks, "rank 2 differs from rank 0 in --seed: 7 against 1; ")

    def test_a_rank_of_another_build_is_named_with_both_builds(self):
        with tempfile.TemporaryDirectory(dir=Path(CELL).parent) as directory:
            program, own, other = other_build(directory)
            ranks = Ranks().start(0).start(1, program=program)
            self.check(ranks, f"rank 1 differs from rank 0 in the build: {other} (")
            self.assertNotEqual(own, other)

    def test_files_may_have_other_names_on_each_machine(self):
        with tempfile.TemporaryDirectory() as directory:
            ranks = Ranks()
            for rank in range(2):
                tokens = Path(directory) / f"tokens{rank}.bin"
                tokens.write_bytes(bytes(2) * 1000)
                ranks.start(rank, tokens=str(tokens))
            self.assertEqual([record["status"] for record in ranks.records()], ["ok", "ok"])

    def test_who_does_not_come_is_named(self):
        ranks = Ranks()
        names = {"RANK": "0", "WORLD_SIZE": "3", "HEADROOM_RANK_PATIENCE_MS": "2000"}
        (record,) = ranks.start(0, variables=names, mesh="dp=3").records()
        self.assertEqual(record["status"], "failed")
        self.assertIn("meeting the other ranks: no answer from rank 1, 2 in 2000 ms",
                      record["reason"])

    def test_a_rank_that_was_started_twice_is_told_so(self):
        long = {"measure_steps": 300}  # the others are still there when the second one comes
        ranks = Ranks().start(1, **long).start(1, **long).start(0, **long)
        reasons = [record["reason"] for record in ranks.records()]
        self.assertTrue(any("two processes were started as rank 1" in one for one in reasons),
                        reasons)

    def test_mpiruns_variables_are_read_too(self):
        for rank, size in share_by_day((("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                                        ("PMI_RANK", "PMI_SIZE"))):
            with self.subTest(rank):
                ranks = Ranks()
                for own in range(2):
                    ranks.start(own, variables={rank: str(own), size: "2"})
                records = ranks.records()
                self.assertEqual([record["status"] for record in records], ["ok", "ok"])
                self.assertEqual([record["ranks"][0]["rank"] for record in records], [0, 1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
