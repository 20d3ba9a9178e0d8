#!/usr/bin/env python3
"""headroom fit --gpus on virtual cards: its meshes are what `headroom profile --mesh` finds, one step beyond included.

usage: mesh_fit_test.py HEADROOM [unittest arguments]
"""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, share_by_day  # noqa: E402

HEADROOM = ""
MODEL = "--model-size custom --d-model 512 --d-ff 1408 --heads 8 --kv-heads 8 --vocab-size 8192".split()
RUN = [*MODEL, "--layers", "4", "--context-length", "256"]
CARD = ["--card", "h100-80gb", "--bytes", "2176MiB"]
MESHES = "pipeline,tensor-parallel,zero-3,zero-1-2"
FEW = ["--allow", f"{MESHES},micro-batches,checkpoint"]


def fit(*arguments):
    return subprocess.run([HEADROOM, "fit", *arguments], capture_output=True, text=True, check=False)


def found(*arguments):
    done = fit(*arguments, "--format", "json")
    return done, json.loads(done.stdout)


def profiled(command):
    """The Record of a command that fit printed."""
    done = subprocess.run([HEADROOM, *shlex.split(command)[1:], "--format", "json"], capture_output=True, text=True,
                          check=False)
    return json.loads(done.stdout)


class MeshFit(unittest.TestCase):
    def test_the_cheapest_meshes_are_what_profile_finds(self):
        done, document = found(*CARD, *RUN, "--gpus", "4", "--batch-size", "8", *FEW, "--answers", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = document["answers"][0]
        mesh = answer["mesh"]
        self.assertEqual(mesh["pp"] * mesh["dp"] * mesh["tp"], 4)
        self.assertEqual(mesh["global_batch_size"], 8 * mesh["dp"])
        record = profiled(answer["command"])
        self.assertEqual(record["status"], "ok")
        self.assertEqual(record["peak_allocated_bytes"], answer["peak_allocated_bytes"])
        self.assertEqual(record["peak_allocated_bytes"], answer["predicted_bytes"])
        beside = record["environment"]["beside_allocator_bytes"]
        self.assertGreater(beside, document["card"]["context_bytes"], "NCCL takes some")
        self.assertEqual(answer["margin_bytes"], (2176 << 20) - beside - answer["peak_allocated_bytes"])
        self.assertGreater(answer["margin_bytes"], 0)
        beyond = answer["beyond"]
        self.assertEqual(profiled(beyond["command"])["status"], "oom")
        # No other kind of rank is fuller than those that ran.
        every = profiled(re.sub("--rank [0-9,-]+", "--rank distinct", answer["command"]))
        self.assertEqual(every["peak_allocated_bytes"], answer["peak_allocated_bytes"])

    def expect_proved(self, document, answer):
        """Measured memory equals theory's, on the card and on the host; no other rank is fuller."""
        # A full card hands out blocks as they are that a roomy one would have split.
        self.assertAlmostEqual(answer["peak_allocated_bytes"] / answer["predicted_bytes"], 1, delta=0.005)
        self.assertGreater(answer["margin_bytes"], 0)
        if answer["peak_allocated_bytes"] != answer["predicted_bytes"]:
            roomy = profiled(re.sub(",bytes=[^ ]+", "", answer["command"]))
            fullest = next(rank for rank in roomy["ranks"] if rank["rank"] == answer["fullest_rank"])
            self.assertEqual(fullest["allocated_bytes"], answer["predicted_bytes"])
        record = profiled(answer["command"].replace("--record-steps 0", "--record-steps 1"))
        self.assertEqual(record["status"], "ok", record["reason"])
        pinned, pageable = answer["predicted_host_pinned_bytes"], answer["predicted_host_pageable_bytes"]
        self.assertEqual(record["spaces"]["host_pinned"]["peak_allocated_bytes"], pinned)
        if pageable > 0:
            self.assertEqual(record["spaces"]["host"]["peak_allocated_bytes"], pageable)
        self.assertEqual(answer["beyond"]["status"], "oom")
        if not IS_NIGHT:  # by day the cheapest mesh alone, above
            return
        every = profiled(re.sub("--rank [0-9,-]+", "--rank distinct", answer["command"]))
        self.assertEqual(every["status"], "ok", every["reason"])
        fullest = max(rank["allocated_bytes"] + rank["nccl_bytes"] for rank in every["ranks"])
        beside = answer["context_and_nccl_bytes"] + answer["peak_allocated_bytes"]
        self.assertEqual(beside - document["card"]["context_bytes"], fullest)

    def test_what_lies_on_the_host_and_released_gradients_are_proved_on_meshes(self):
        small = ["--batch-size", "1", "--context-length", "64", "--layers", "4"]
        cases = [
            ("tp=2", "1340MiB", "release-gradients", small, {"release-gradients"}),
            ("tp=2", "1210MiB", "optimizer-offload", small, {"optimizer-offload"}),
            ("tp=2", "1188MiB", "param-offload,optimizer-offload", small, {"param-offload", "optimizer-offload"}),
            ("dp=2", "1300MiB", "optimizer-offload,zero-1-2", small, {"optimizer-offload"}),
            ("pp=2", "2150MiB", "activation-offload,micro-batches",
             ["--batch-size", "2", "--context-length", "1024", "--layers", "8"], {"activation-offload"}),
        ]
        for mesh, size, words, run, asked in share_by_day(cases, step=4):
            with self.subTest(mesh=mesh, words=words):
                done, document = found("--card", "h100-80gb", "--bytes", size, *MODEL, *run, "--gpus", "2", "--mesh",
                                       mesh, "--allow", words)
                self.assertEqual(done.returncode, 0, done.stderr)
                answers = [each for each in document["answers"] if set(each["techniques"]) >= asked]
                self.assertTrue(answers, document["answers"])
                self.expect_proved(document, answers[0])

    def test_a_host_is_shared_by_its_ranks(self):
        flags = ["--card", "h100-80gb", "--bytes", "1210MiB", *MODEL, "--layers", "4", "--batch-size", "1", "--context-length", "64",
                 "--gpus", "2", "--mesh", "tp=2", "--allow", "optimizer-offload"]
        _, document = found(*flags)
        host = document["answers"][0]["predicted_host_bytes"]
        self.assertGreater(host, 0)
        done, document = found(*flags, "--host-memory", str(2 * host))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(document["host_limit_of_a_rank_bytes"], host)
        self.assertEqual(profiled(document["answers"][0]["command"])["status"], "ok")
        done, document = found(*flags, "--host-memory", str(2 * host - 2))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(document["nearest"]["host_short_by_bytes"], 1)
        self.assertEqual(profiled(document["nearest"]["command"])["status"], "oom")
        self.assertIn("for 2 ranks", done.stderr)

    def test_the_largest_batch_is_that_of_all_replicas(self):
        done, document = found(*CARD, *RUN, "--gpus", "4", "--allow", "pipeline,tensor-parallel,zero-1-2,optimizer-offload",
                               "--answers", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(document["question"], "batch_size")
        batches = [answer["mesh"]["global_batch_size"] for answer in document["answers"]]
        self.assertGreater(len(batches), 1)
        self.assertEqual(batches, sorted(set(batches)))
        for answer in document["answers"]:
            mesh = answer["mesh"]
            self.assertEqual(mesh["global_batch_size"], mesh["dp"] * answer["batch_size"])
            self.assertEqual(answer["batch_size"] % mesh["pp"], 0, "a micro-batch for each stage")
        self.expect_proved(document, document["answers"][-1])

    def test_the_largest_context_is_one_that_tp_splits(self):
        done, document = found(*CARD, *MODEL, "--layers", "4", "--gpus", "4", "--mesh", "tp=4", "--batch-size", "2",
                               "--allow", "optimizer-offload", "--answers", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        for answer in document["answers"]:
            self.assertEqual(answer["context_length"] % 4, 0)
            self.assertTrue(answer["mesh"]["sequence_parallel"])
        self.expect_proved(document, document["answers"][-1])


if __name__ == "__main__":
    HEADROOM = os.path.realpath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
