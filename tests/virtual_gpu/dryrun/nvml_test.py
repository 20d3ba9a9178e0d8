#!/usr/bin/env python3
"""NVML beside the runtime on virtual cards: the same cards, names, UUIDs and bytes.

usage: nvml_test.py HEADROOM PYTHON
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

HEADROOM, PYTHON = sys.argv[1:3]
PROGRAM = Path(__file__).parents[1] / "programs" / "cuda/nvml.py"


def run(*flags, visible=None):
    environment = [] if visible is None else ["env", f"CUDA_VISIBLE_DEVICES={visible}"]
    done = subprocess.run([HEADROOM, "dryrun", "--card", "h100-80gb", "--count", "2", "--", *environment, PYTHON,
                           PROGRAM, *flags], capture_output=True, text=True, env=os.environ, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout), done.stderr


def smi(*words):
    return subprocess.run([HEADROOM, "dryrun", "--card", "h100-80gb", "--count", "2", "--", "nvidia-smi", *words],
                          capture_output=True, text=True, check=False)


class Nvml(unittest.TestCase):
    def test_it_agrees_with_the_runtime(self):
        for visible, card in ((None, 0), ("1", 1)):
            with self.subTest(visible=visible):
                found, _ = run(visible=visible)
                runtime = found["torch"]
                self.assertEqual(runtime["count"], 2 if visible is None else 1)
                self.assertEqual(len(found["cards"]), 2)
                mine, other = found["cards"][card], found["cards"][1 - card]
                self.assertEqual({name: mine[name] for name in ("name", "uuid", "total", "used")},
                                 {name: runtime[name] for name in ("name", "uuid", "total", "used")})
                self.assertEqual(runtime["bus"], card + 1)
                self.assertEqual(other["used"], 0)
                self.assertNotEqual(other["uuid"], mine["uuid"])

    def test_a_program_that_only_asks_has_no_use_of_cuda(self):
        found, report = run("--no-cuda")
        self.assertEqual(len(found["cards"]), 2)
        self.assertIn("no process reported any use of CUDA", report)

    def test_nvidia_smi_answers_what_programs_parse_and_refuses_the_rest(self):
        cards, _ = run("--no-cuda")
        named = [(card["name"], card["uuid"]) for card in cards["cards"]]
        self.assertEqual(smi("-L").stdout.splitlines(),
                         [f"GPU {i}: {name} (UUID: {uuid})" for i, (name, uuid) in enumerate(named)])
        mebibytes = cards["cards"][0]["total"] >> 20
        asked = smi("--query-gpu=name,memory.total,memory.used,driver_version", "--format=csv").stdout.splitlines()
        self.assertEqual(asked[0], "name, memory.total [MiB], memory.used [MiB], driver_version")
        self.assertRegex(asked[2], rf"^{named[1][0]}, {mebibytes} MiB, 0 MiB, [0-9.]+$")
        bare = smi("--query-gpu", "index,memory.total,utilization.gpu,clocks.max.sm", "--format", "csv,noheader,nounits",
                   "-i", "1")
        self.assertEqual(bare.stdout, f"1, {mebibytes}, [N/A], 1980\n")  # of an H100, as Inductor asks
        for words, fault in (([], "the table"), (["-q"], "'-q'"), (["--query-gpu=colour", "--format=csv"], '"colour"'),
                             (["--query-gpu=name"], "--format=csv is needed"), (["-L", "-i", "7"], "-i 7")):
            refused = smi(*words)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertRegex(refused.stderr, f"nvidia-smi: .*{fault}.*allowed: -L, or --query-gpu=")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
