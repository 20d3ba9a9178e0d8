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

HEADROOM = ""
RUN = ("--model-size custom --d-model 512 --d-ff 1408 --layers 4 --heads 8 --kv-heads 8 --vocab-size 8192 "
       "--context-length 256").split()
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


if __name__ == "__main__":
    HEADROOM = os.path.realpath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
