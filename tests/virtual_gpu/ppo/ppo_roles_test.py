#!/usr/bin/env python3
"""Techniques of one role of an iteration, by their flags: on the CPU scores, on a virtual card bytes.

usage: ppo_roles_test.py HEADROOM
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, at_night, share_by_day  # noqa: E402

HEADROOM = sys.argv[1]
# Threads of OpenMP that wait for one another cost seconds on a busy machine.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


@functools.cache
def ppo(*flags):
    """The Record; the same flags are run once."""
    command = [HEADROOM, "ppo", "--format", "json", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=ENVIRONMENT)
    if not done.stdout:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    record = json.loads(done.stdout)
    if record["status"] != "ok":
        sys.exit(f"{' '.join(command)}\n{record['status']}: {record['reason']}")
    return record


class WithFolders(unittest.TestCase):
    def setUp(self):
        folders = [tempfile.TemporaryDirectory() for _ in range(2)]
        for folder in folders:
            self.addCleanup(folder.cleanup)
        self.one, self.other = (folder.name for folder in folders)


class OnTheCpu(WithFolders):
    TINY = ("--model-size", "custom", "--d-model", "64", "--d-ff", "128", "--layers", "3", "--heads",
            "4", "--vocab-size", "50", "--reward-size", "actor", "--batch-size", "4", "--prompt-len",
            "8", "--response-len", "8", "--iterations", "2", "--epochs", "1", "--device", "cpu")

    def scores(self, *flags):
        iterations = ppo(*self.TINY, *flags)["ppo"]["iterations"]
        self.assertEqual(len(iterations), 2)
        return [(one["score"], one["kl"], one["reward"]) for one in iterations]

    def test_what_computes_the_same_numbers_elsewhere_or_again_gives_the_same_scores(self):
        """At night each of them alone; else several together, which changes as little."""
        plain = self.scores()
        self.assertNotEqual(plain[1][1], 0)
        together = ([["--swap-phases"], ["--actor-recompute", "full"],
                     ["--critic-activations", "offload:min=1B"], ["--reward-param-offload", "cpu"],
                     ["--reference", "offload"]],
                    [["--empty-cache-between-phases"], ["--critic-recompute", "every:2"],
                     ["--actor-activations", "offload:min=1B"],
                     ["--reward-param-offload", f"nvme:{self.one}"],
                     ["--reference", f"disk:{self.other}"]],
                    [["--reference-param-offload", "cpu"]])
        alone = [[one] for several in together for one in several]
        for several in alone if IS_NIGHT else together:
            flags = [word for one in several for word in one]
            with self.subTest(flags=flags):
                self.assertEqual(self.scores(*flags), plain)

    def test_the_hosts_adamw_gives_the_scores_to_rounding(self):
        plain = self.scores()
        cases = (["--actor-optimizer-offload", "cpu", "--actor-param-offload", "cpu"],
                 ["--actor-optimizer-offload", "cpu"], ["--critic-optimizer-offload", "cpu"],
                 ["--critic-optimizer-offload", "cpu", "--critic-param-offload", "cpu"],
                 ["--actor-optimizer-offload", f"nvme:{self.one}",
                  "--critic-optimizer-offload", f"nvme:{self.other}",
                  "--param-offload", f"nvme:{self.one}", "--swap-phases"])
        for flags in share_by_day(cases, step=4):
            with self.subTest(flags=flags):
                for ours, theirs in zip(self.scores(*flags), plain):
                    for one, other in zip(ours, theirs):
                        self.assertAlmostEqual(one, other, delta=1e-5)

    def test_what_is_of_one_role_changes_that_role(self):
        plain = self.scores()
        self.assertNotEqual(self.scores("--actor-learning-rate", "0.0001"), plain)
        self.assertNotEqual(self.scores("--critic-learning-rate", "0.01"), plain)


class OnAVirtualCard(WithFolders):
    SMALL = ("--model-size", "small", "--reward-size", "actor", "--batch-size", "8", "--prompt-len",
             "224", "--response-len", "32", "--epochs", "1", "--device", "virtual:h200")

    def components(self, *flags):
        record = ppo(*self.SMALL, *flags)
        return {phase["phase"]: phase["component_bytes"] for phase in record["ppo"]["phases"]}

    def backward(self, *flags):
        return ppo(*self.SMALL, *flags)["phases"]["backward"]["requested_bytes"]

    @at_night
    def test_checkpointing_and_activations_of_one_role_leave_the_others_peak(self):
        for technique, plain in (("checkpoint", "none"), ("activations", "exact")):
            value = {"checkpoint": "full", "activations": "offload"}[technique]
            of_both = self.backward(f"--{technique}", value)
            of_none = self.backward()
            self.assertLess(of_both, 0.8 * of_none)
            for role in ("actor", "critic"):
                with self.subTest(technique=technique, role=role):
                    alone = self.backward(f"--{technique}", value, f"--{role}-{technique}", plain)
                    self.assertGreater(alone, 1.1 * of_both)
                    self.assertLessEqual(alone, of_none)

    def test_an_optimizer_on_the_host_has_no_states_on_the_card(self):
        for role in share_by_day(("actor", "critic")):
            phases = self.components(f"--{role}-optimizer-offload", "cpu")
            other = {"actor": "critic", "critic": "actor"}[role]
            for phase, held in phases.items():
                self.assertNotIn(f"{role} optimizer_state", held, phase)
                self.assertIn(f"{other} optimizer_state", held, phase)

    def test_offloaded_parameters_leave_what_is_outside_the_blocks(self):
        vocabulary, width = 10000, 768
        cases = ((("--reference", f"disk:{self.one}"), "reference"),
                 (("--reference", "offload"), "reference"),
                 (("--critic-param-offload", "cpu", "--critic-optimizer-offload", "cpu"), "critic"),
                 (("--reward-param-offload", "cpu"), "reward"))
        for flags, role in share_by_day(cases, step=3):
            with self.subTest(flags=flags):
                held = self.components(*flags)["generation"][f"{role} parameters"]
                head = vocabulary if role == "reference" else 1
                self.assertEqual(held, 4 * width * (vocabulary + head + 1))

    def test_a_directory_is_counted_as_a_disk(self):
        record = ppo(*self.SMALL, "--reference", f"disk:{self.one}")
        block = 4 * (4 * 768 * 768 + 3 * 768 * 3072 + 2 * 768)
        self.assertGreaterEqual(record["spaces"]["disk"]["peak_allocated_bytes"], 12 * block)
        self.assertGreaterEqual(record["host_traffic_bytes"]["from_disk"], 12 * block)

    def test_the_share_of_generation_is_the_actors_weights_and_a_cache_of_whole_sequences(self):
        for form, share in share_by_day((("paged", 0.2), ("contiguous", 0.15))):
            with self.subTest(form=form):
                record = ppo("--model-size", "small", "--batch-size", "64", "--prompt-len", "224",
                             "--response-len", "32", "--epochs", "1", "--recompute", "full",
                             "--max-tokens-per-micro-batch", "2048", "--kv-cache", form,
                             "--gpu-memory-utilization", str(share), "--device",
                             "virtual:h200,bytes=10GiB")
                card = record["environment"]["virtual_card"]
                held = record["ppo"]["phases"][0]["component_bytes"]
                left = int(share * card["total_bytes"]) - card["context_bytes"]
                left -= held["actor parameters"]
                sequence = 256 * 2 * 12 * 768 * 4  # tokens, keys and values, layers, width, FP32
                block = sequence // 16
                unit = block if form == "paged" else sequence
                self.assertEqual(held["actor kv_cache"], left // unit * unit)
                self.assertLess(held["actor kv_cache"], 64 * sequence)

    def test_everything_at_once_runs_7b_on_24_gb(self):
        trained = ("checkpoint full", "activations offload", "optimizer-offload cpu",
                   "param-offload cpu")
        flags = [word for role in ("actor", "critic") for text in trained
                 for word in f"--{role}-{text}".split()]
        record = ppo("--model-size", "7b", "--reward-size", "actor", "--param-dtype", "bf16",
                     "--master-weights", "fp32", "--attention", "sdpa", "--batch-size", "4",
                     "--prompt-len", "512", "--response-len", "8", "--minibatches", "2", "--epochs",
                     "1", "--max-tokens-per-micro-batch", "1040", "--device", "virtual:rtx4090",
                     "--reference", "offload", "--reward-param-offload", "cpu", *flags)
        self.assertLess(record["peak_allocated_bytes"], 12 << 30)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
