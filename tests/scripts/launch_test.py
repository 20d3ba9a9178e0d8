#!/usr/bin/env python3
"""scripts/launch.sh: two "machines" of two ranks each are one run, and what goes wrong on one.

usage: launch_test.py HEADROOM
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "train" / "parallel")]
from at_night import at_night  # noqa: E402
from cells import free_port, gone, met  # noqa: E402

HEADROOM = str(Path(sys.argv[1]).absolute())
LAUNCH = str(Path(__file__).resolve().parents[2] / "scripts" / "launch.sh")
MODEL = ("--model-size custom --d-model 32 --d-ff 88 --layers 2 --heads 4 --vocab-size 101 "
         "--context-length 16 --batch-size 2 --threads 1 --device cpu --profile-type training "
         "--stacks none --record-steps 0 --warmup-steps 0").split()
STEPS = ["--measure-steps", "3"]
LONG = ["--measure-steps", "100000"]
SOON = 240  # seconds


# For a launcher's PYTHONPATH: its agent asks the store a second after all have come to the last
# barrier, when machine 0 has taken the store with it. Before torch is imported.
SLOW_TO_LEAVE = """
import sys, time

def at(frame, event, _):
    if event == "return" and frame.f_code.co_name == "_barrier_nonblocking":
        time.sleep(1)
sys.setprofile(at)
"""


def machine(number, port, *flags, nnodes=2, nproc=2, **environment):
    where = ["--nnodes", str(nnodes), "--node-rank", str(number), "--rdzv", f"127.0.0.1:{port}"]
    return subprocess.Popen(
        [LAUNCH, *where, "--nproc", str(nproc), "--", *MODEL, *flags],
        env={**os.environ, "HEADROOM_BIN": HEADROOM, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Launch(unittest.TestCase):
    def ended(self, *processes):
        """Exit code, Records and stderr of each. One that has not ended by then is stopped, and all are printed."""
        deadline = time.monotonic() + SOON
        while (running := [one for one in processes if one.poll() is None]) and time.monotonic() < deadline:
            time.sleep(0.02)
        for process in running:
            process.terminate()
        outputs = [process.communicate(timeout=SOON) for process in processes]
        self.assertFalse(running, f"not ended after {SOON} s: {outputs}")
        return [(process.returncode, [json.loads(line) for line in out.splitlines()], err)
                for process, (out, err) in zip(processes, outputs)]

    def alone(self, *flags):
        done = subprocess.run([HEADROOM, "profile", *MODEL, *flags, "--format", "json"],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def test_two_machines_of_two_ranks_compute_what_four_ranks_of_one_do(self):
        flags = ["--mesh", "dp=2,tp=2", "--zero", "1", *STEPS]
        port = free_port()
        ends = self.ended(*(machine(number, port, *flags) for number in range(2)))
        for number, (code, records, err) in enumerate(ends):
            self.assertEqual(code, 0, err)
            self.assertNotIn("torch", err)  # rank 0 says how far it is, and nobody else says a word
            self.assertEqual([record["ranks"][0]["rank"] for record in records],
                             [2 * number, 2 * number + 1])
        together = self.alone(*flags)
        ranks = [record["ranks"][0] for _, records, _ in ends for record in records]
        for rank, other in zip(ranks, together["ranks"]):
            for key in ("rank", "status", "moved_bytes", "moved_calls"):
                self.assertEqual(rank[key], other[key])
        losses = [record["losses"] for _, records, _ in ends for record in records]
        means = [sum(step) / 4 for step in zip(*losses)]
        for mean, loss in zip(means, together["losses"]):
            self.assertLess(abs(mean - loss), 1e-12 * abs(loss))

    @at_night
    def test_a_machine_that_leaves_after_the_store_has_gone_says_nothing(self):
        port = free_port()
        with tempfile.TemporaryDirectory() as path:
            Path(path, "sitecustomize.py").write_text(SLOW_TO_LEAVE)
            ends = self.ended(*(machine(number, port, "--mesh", "dp=2", *STEPS, nproc=1, **more)
                                for number, more in enumerate([{}, {"PYTHONPATH": path}])))
        for code, records, err in ends:
            self.assertEqual((code, [record["status"] for record in records]), (0, ["ok"]), err)
            self.assertNotIn("torch", err)

    def test_a_rank_that_dies_on_one_machine_ends_both_and_is_named_there(self):
        port = free_port()
        flags = ["--mesh", "dp=2", *LONG, "--deadline", "40"]
        processes = [machine(number, port, *flags, nproc=1) for number in range(2)]
        cells = {**met(processes[0], 1, SOON), **met(processes[1], 1, SOON)}
        self.assertEqual(sorted(cells), [0, 1])
        os.kill(cells[1], signal.SIGKILL)
        (first, of_first, _), (second, of_second, err) = self.ended(*processes)
        self.assertEqual((first, second), (4, 4))
        reasons = [record["reason"] for record in of_second]
        self.assertIn("rank 1: killed by signal 9 (SIGKILL)", reasons)
        self.assertIn("rank 1: killed by signal 9 (SIGKILL)", err)
        for record in of_first:
            self.assertEqual(record["status"], "failed")
            self.assertRegex(record["reason"], f"^rank {record['ranks'][0]['rank']}: measured ")
        for pid in cells.values():
            self.assertTrue(gone(pid))

    @at_night  # by day: mesh_meeting_test.py
    def test_machines_that_were_given_other_settings_are_told_which_rank_differs(self):
        port = free_port()
        ends = self.ended(machine(0, port, "--mesh", "dp=2", *STEPS, "--seed", "1", nproc=1),
                          machine(1, port, "--mesh", "dp=2", *STEPS, "--seed", "2", nproc=1))
        for number, (code, (record,), _) in enumerate(ends):
            self.assertEqual(code, 4)
            self.assertEqual(record["status"], "usage")
            self.assertIn(f"rank {number}: --mesh: rank 1 differs from rank 0 in --seed: 2 against "
                          "1;", record["reason"])

    @at_night
    def test_an_interrupt_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as path:
            process = machine(0, free_port(), "--mesh", "dp=2", *LONG, nnodes=1, TMPDIR=path)
            cells = met(process, 2, SOON)
            process.send_signal(signal.SIGTERM)
            ((code, records, _),) = self.ended(process)
            self.assertEqual((code, records), (130, []))
            self.assertEqual(os.listdir(path), [])
        for pid in cells.values():
            self.assertTrue(gone(pid))

    def test_bad_input_is_one_line_and_starts_nothing(self):
        for words, said in (
            ([], "nothing to run"),
            (["--nproc", "2"], "nothing to run"),
            (["--", "--mesh", "dp=2"], "--nproc"),
            (["--nproc", "x", "--", "--mesh", "dp=2"], "--nproc 'x' is no number"),
            (["--nproc", "1", "--nnodes", "2", "--", "--mesh", "dp=2"], "--rdzv"),
            (["--nproc", "1", "--rdzv", "here", "--", "--mesh", "dp=2"], "HOST:PORT"),
            (["--nproc", "1", "--nnodes", "2", "--node-rank", "2", "--", "--mesh", "dp=2"],
             "--node-rank"),
            (["--nprocs", "1"], "unknown option '--nprocs'"),
            (["--nproc", "2", "--", *MODEL, "--mesh", "dp=two"], "--mesh"),
            (["--nproc", "2", "--", *MODEL, "--mesh", "dp=3"], "has 3 ranks"),
        ):
            done = subprocess.run([LAUNCH, *words], capture_output=True, text=True, check=False,
                                  env={**os.environ, "HEADROOM_BIN": HEADROOM})
            with self.subTest(" ".join(words)):
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
