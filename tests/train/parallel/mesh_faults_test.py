#!/usr/bin/env python3
"""A mesh when something goes wrong: one line that names the rank and the reason, soon, and
nothing that still runs.

usage: mesh_faults_test.py HEADROOM
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cells import FORKED_AT_WORK, gone, met

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import at_night, share_by_day  # noqa: E402

HEADROOM = sys.argv[1]
CELL = str(Path(HEADROOM).parent / "headroom-cell")
MODEL = ("--model-size custom --d-model 64 --d-ff 128 --layers 4 --heads 4 --vocab-size 97 "
         "--context-length 32 --batch-size 2 --threads 1 --device cpu --profile-type training "
         "--stacks none --record-steps 0").split()
LONG = ["--warmup-steps", "0", "--measure-steps", "100000"]
SOON = 150  # seconds
ON_HOST = ("--optimizer-offload", "cpu", "--param-offload", "cpu")


def profile(*flags, model=MODEL, **more):
    if "--device" in flags:
        model = [word for word in model if word not in ("--device", "cpu")]
    return subprocess.Popen([HEADROOM, "profile", *model, *flags, "--format", "json"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


class MeshFaults(unittest.TestCase):
    def ended(self, process, pids):
        out, err = process.communicate(timeout=SOON)
        for pid in pids:
            self.assertTrue(gone(pid), f"{pid} still runs")
        return out, err

    def test_a_rank_that_is_killed_ends_all_and_is_named(self):
        process = profile("--mesh", "dp=2", *LONG)
        pids = met(process, 2, SOON, FORKED_AT_WORK)
        os.kill(pids[1], signal.SIGKILL)
        out, _ = self.ended(process, pids.values())
        record = json.loads(out)
        self.assertEqual(process.returncode, 4)
        self.assertEqual(record["status"], "killed")
        self.assertEqual(record["reason"], "rank 1: killed by signal 9 (SIGKILL)")

    def test_a_rank_that_hangs_is_named_before_the_deadline_and_without_one(self):
        """By day without one. At night both runs at the same time: each waits for seconds."""
        fast = {"HEADROOM_RANK_PATIENCE_MS": "12000", "HEADROOM_RANK_SILENCE_MS": "2000"}
        runs = []
        for flags, more in share_by_day((((), fast), (("--deadline", "24"), {}))):
            process = profile("--mesh", "dp=2", *LONG, *flags, env={**os.environ, **more})
            pids = met(process, 2, SOON, FORKED_AT_WORK)
            os.kill(pids[1], signal.SIGSTOP)
            runs.append((process, pids.values()))
        ended = [self.ended(*run) for run in runs]
        for out, _ in ended:
            self.assertIn("no answer from rank 1", json.loads(out)["reason"])
        self.assertRegex(ended[0][1], "no rank has begun anything for [0-9]+ s; furthest behind")

    def test_ranks_without_a_loopback_interface_are_refused_before_they_start(self):
        command = ["unshare", "--map-root-user", "--net", HEADROOM, "profile", *MODEL]
        if subprocess.run([*command[:3], "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no network namespaces here")
        done = subprocess.run([*command, "--mesh", "dp=2"], capture_output=True, text=True,
                              timeout=SOON, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertRegex(done.stderr, r"headroom: ranks cannot connect to 127\.0\.0\.1: Network "
                                      r"is unreachable")

    def test_the_rank_that_has_the_store_is_killed_in_the_middle_and_named(self):
        for mesh in share_by_day(("dp=2", "pp=2")):
            with self.subTest(mesh):
                process = profile("--mesh", mesh, *LONG)
                pids = met(process, 2, SOON, FORKED_AT_WORK)
                os.kill(pids[0], signal.SIGKILL)
                out, _ = self.ended(process, pids.values())
                record = json.loads(out)
                self.assertEqual((process.returncode, record["reason"]),
                                 (4, "rank 0: killed by signal 9 (SIGKILL)"))
                self.assertNotEqual(record["ranks"][1]["status"], "ok")

    def check_that_the_stage_with_the_head_is_refused(self, figure, limit):
        """limit: flags that leave a rank so many bytes, of what the figure counts."""
        # The logits of this rank have no counterpart on the other one.
        changed = {"--vocab-size": "20000", "--context-length": "256", "--batch-size": "4"}
        model = [changed.get(before, word) for before, word in zip(["", *MODEL], MODEL)]
        stages = ["--mesh", "pp=2", "--micro-batches", "2", "--warmup-steps", "0",
                  "--measure-steps", "1"]
        record = json.loads(self.ended(profile(*stages, *limit(1 << 33), model=model), ())[0])
        self.assertEqual(record["status"], "ok", record["reason"])
        first, last = (rank[figure] for rank in record["ranks"])
        self.assertGreater(last, 1.5 * first)
        process = profile(*stages, *limit((first + last) // 2), model=model)
        record = json.loads(self.ended(process, ())[0])
        self.assertEqual((process.returncode, record["status"]), (4, "oom"), record["reason"])
        self.assertRegex(record["reason"], "^rank 1: measured step 1, ")
        self.assertNotIn("\n", record["reason"])
        self.assertEqual(record["ranks"][1]["status"], "oom")
        self.assertIn(record["ranks"][0]["status"], ("killed", "failed"))

    @at_night
    def test_a_rank_that_runs_out_of_host_memory_is_named_with_where_in_the_step(self):
        self.check_that_the_stage_with_the_head_is_refused(
            "allocated_bytes", lambda size: ("--host-memory", str(size)))

    def test_a_rank_that_runs_out_of_its_card_is_named_with_where_in_the_step(self):
        cards = subprocess.run([HEADROOM, "cards", "rtx4090", "--format", "json"],
                               capture_output=True, text=True, check=True).stdout
        context = json.loads(cards)["cards"][0]["context"]["bytes"]
        self.check_that_the_stage_with_the_head_is_refused(
            "reserved_bytes", lambda size: ("--device", f"virtual:rtx4090,bytes={size + context}"))

    def test_replicas_that_all_run_out_of_their_cards_say_nothing_of_their_groups(self):
        model = ["--model-size", "2.7B", "--profile-type", "training"]
        process = profile("--mesh", "dp=2", "--device", "virtual:rtx4090", model=model)
        out, err = self.ended(process, ())
        self.assertEqual((process.returncode, json.loads(out)["status"]), (4, "oom"))
        self.assertNotIn("Warning", err)

    def test_a_rank_that_ends_early_is_named(self):
        # At once, and in the middle of a step.
        for ending in share_by_day(("exit 0", f"timeout -s KILL 4 {CELL} >&2; exit 0")):
            with self.subTest(ending), tempfile.TemporaryDirectory() as directory:
                program = Path(directory) / "headroom-cell"
                program.write_text(
                    f'#!/bin/sh\ncase "$RANK$*" in 1) {ending};; esac\nexec {CELL} "$@"\n')
                program.chmod(0o755)
                process = profile("--mesh", "dp=2", *LONG,
                                  env={**os.environ, "HEADROOM_CELL": str(program)})
                record = json.loads(self.ended(process, ())[0])
                self.assertRegex(record["reason"],
                                 "^rank 1: exit code 0 but no Record on stdout")
                self.assertEqual(process.returncode, 4)

    def test_control_c_leaves_nothing(self):
        process = profile("--mesh", "dp=2", *LONG)
        pids = met(process, 2, SOON, FORKED_AT_WORK)
        process.send_signal(signal.SIGINT)
        self.ended(process, pids.values())
        self.assertEqual(process.returncode, 130)

    def test_a_mesh_that_cannot_be_is_refused_in_one_line(self):
        for flags, words in ((("--mesh", "tp=3"), "does not divide the 4 key/value heads"),
                             (("--mesh", "pp=5"), "and it has 4 layers"),
                             (("--mesh", "ep=2"), "unknown axis 'ep'"),
                             (("--mesh", "dp=2", "--zero", "4"), "--zero"),
                             (("--mesh", "dp=4", "--shard-group", "2"), "shards nothing"),
                             (("--mesh", "dp=4", "--zero", "1", "--shard-group", "3"),
                              "does not divide dp=4"),
                             (("--mesh", "dp=4", "--zero", "1", "--shard-group", "1"),
                              "does not divide dp=4"),
                             (("--mesh", "dp=2", "--zero", "2", "--prefetch", "0"),
                              "applies to gathered weights"),
                             (("--zero", "1"), "shards states over replicas"),
                             (("--schedule", "gpipe"), "orders pipeline stages"),
                             (("--mesh", "dp=2", "--zero", "1", *ON_HOST), "in flat tensors"),
                             (("--mesh", "dp=4", "--zero", "1", "--shard-group", "2",
                               "--optimizer-offload", "cpu"), "--shard-group"),
                             (("--mesh", "dp=2", "--optimizer-offload", "nvme:."),
                              "keeps the states of one rank"),
                             (("--mesh", "dp=2", "--release-gradients"), "over replicas")):
            with self.subTest(" ".join(flags)):
                process = profile(*flags)
                out, err = self.ended(process, ())
                self.assertEqual((process.returncode, out), (2, ""))
                self.assertEqual(err.count("\n"), 1, err)
                self.assertIn(words, err)

    def cell(self, **variables):
        """A rank as a launcher starts it; its Record."""
        spec = {"model_size": "custom", "d_model": 64, "d_ff": 128, "layers": 2, "heads": 4,
                "vocab_size": 97, "context_length": 32, "batch_size": 2, "device": "cpu",
                "profile_type": "training", "record_steps": 0, "mesh": "dp=2", "threads": 1}
        kept = {name: value for name, value in os.environ.items()
                if name not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
        done = subprocess.run([CELL], input=json.dumps({"spec": spec}) + "\n",
                              env={**kept, **variables}, capture_output=True, text=True,
                              timeout=SOON, check=False)
        return json.loads(done.stdout)

    def test_a_launcher_that_says_nothing_or_something_else_is_told_so(self):
        record = self.cell()
        self.assertEqual(record["status"], "usage")
        self.assertIn("RANK is not set", record["reason"])
        record = self.cell(RANK="0", WORLD_SIZE="3", MASTER_ADDR="127.0.0.1", MASTER_PORT="29999")
        self.assertEqual(record["status"], "usage")
        self.assertIn("has 2 ranks, and the launcher started 3", record["reason"])

    def test_a_port_in_use_and_a_store_that_is_not_there_are_failures_of_their_rank(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            record = self.cell(RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                               HEADROOM_RANK_PATIENCE_MS="500")
        self.assertEqual(record["status"], "failed")
        self.assertIn("meeting the other ranks", record["reason"])
        record = self.cell(RANK="1", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                           HEADROOM_RANK_PATIENCE_MS="500")
        self.assertEqual(record["status"], "failed")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
