#!/usr/bin/env python3
"""Iterations that run out of memory on a virtual card: where, whose bytes, and what avoids it, tried.

usage: ppo_refusal_test.py HEADROOM
"""

import functools
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import at_night  # noqa: E402

HEADROOM = sys.argv[1]
SMALL = ("--model-size", "small", "--prompt-len", "8", "--response-len", "8", "--epochs", "1")
FOUR = (*SMALL, "--reward-size", "actor", "--batch-size", "4")


@functools.cache  # what does not fit is searched once
def run(*flags):
    done = subprocess.run([HEADROOM, "ppo", *flags], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def record_of(*flags):
    code, out, err = run("--format", "json", *flags)
    if not out:
        sys.exit(f"{flags}\n{err}")
    return code, json.loads(out), err


class PpoRefusalTest(unittest.TestCase):
    def refused(self, *flags):
        """Returns the Record, and the advice as words, which is taken."""
        code, record, err = record_of(*flags)
        self.assertEqual((code, record["status"]), (4, "oom"), err)
        found = [re.match(r"it runs with (--.*) \(tried\): peak (\S+ \S+) allocated", note)
                 for note in record["notes"]]
        advice = [match for match in found if match]
        self.assertEqual(len(advice), 1, record["notes"])
        words = advice[0][1].split()
        code, runs, err = record_of(*flags, *words)
        self.assertEqual((code, runs["status"]), (0, "ok"), err)
        return record, words, err

    def test_an_update_that_does_not_fit_names_the_states_and_keeps_the_phases_before(self):
        record, words, _ = self.refused(*FOUR, "--device", "virtual:h200,bytes=4GiB")
        moment = record["out_of_memory"]
        self.assertEqual(moment["during"], "warm-up iteration")
        self.assertEqual(moment["phase"], "training, critic: optimizer")
        self.assertEqual(moment["grew_last"], "critic optimizer_state")
        self.assertIn("training, critic: optimizer; critic optimizer_state grew last",
                      record["reason"])
        self.assertEqual(sum(moment["component_bytes"].values()), moment["requested_bytes"])
        self.assertEqual(words, ["--optimizer-offload", "cpu"])
        self.assertEqual([phase["phase"] for phase in record["ppo"]["phases"]],
                         ["generation", "scoring"])
        self.assertEqual({"generation", "scoring"} & set(record["phases"]),
                         {"generation", "scoring"})
        self.assertNotIn("training", record["phases"])
        self.assertTrue(record["ppo"]["of_warm_up"])
        for phase in record["ppo"]["phases"]:
            self.assertEqual(sum(phase["component_bytes"].values()), phase["requested_bytes"])
            self.assertEqual(phase["requested_bytes"],
                             record["phases"][phase["phase"]]["requested_bytes"])

    def test_models_that_do_not_fit_together_are_refused_while_they_are_built(self):
        record, words, _ = self.refused(*FOUR, "--device", "virtual:h200,bytes=2200MiB")
        self.assertEqual(record["out_of_memory"]["grew_last"], "reference parameters")
        self.assertEqual(record["out_of_memory"]["during"], "building the reference")
        self.assertIn("building the reference; reference parameters grew last", record["reason"])
        self.assertNotEqual(words, [])

    @at_night
    def test_a_cache_that_does_not_fit_is_made_smaller(self):
        record, words, _ = self.refused(
            "--model-size", "small", "--prompt-len", "128", "--response-len", "128", "--epochs",
            "1", "--algorithm", "grpo", "--group-size", "2", "--reference", "none", "--batch-size",
            "96", "--max-tokens-per-micro-batch", "512", "--optimizer-offload", "cpu",
            "--recompute", "full", "--prefill-chunk", "1024", "--device", "virtual:h200,bytes=2300MiB")
        self.assertEqual(record["out_of_memory"]["phase"], "generation")
        self.assertEqual(record["out_of_memory"]["grew_last"], "actor kv_cache")
        self.assertIn("--kv-cache-tokens", words)

    def test_the_table_says_where_whose_and_what_was_tried(self):
        code, out, err = run(*FOUR, "--device", "virtual:h200,bytes=4GiB")
        self.assertEqual(code, 4)
        for text in ("When memory ran out", "Live when memory ran out",
                     "grew last: critic optimizer state", "Remedies tried",
                     "--empty-cache-between-phases", "runs"):
            self.assertIn(text, out)
        self.assertIn("tried --empty-cache-between-phases: oom in training", err)
        self.assertIn("it runs with ", err)

    def test_nothing_computed_stands_beside_a_warm_up_and_a_line_says_why(self):
        _, out, err = run(*FOUR, "--device", "virtual:h200,bytes=4GiB")
        self.assertEqual(re.findall(r"^phase .*", out, re.M),
                         ["phase       allocated   reserved  requested"])
        self.assertEqual(set(re.findall(r"^component .*measured.*", out, re.M)),
                         {"component              measured"}, out)
        self.assertNotRegex(out, r"[+-]\d+\.\d+ %")
        self.assertEqual(err.count("the phases are those of the warm-up iteration, which begins "
                                   "without optimizer "
                                   "states"), 1, err)

    @at_night
    def test_phases_of_the_iteration_after_it_are_those_that_are_computed(self):
        flags = ("--model-size", "small", "--prompt-len", "32", "--response-len", "224",
                 "--epochs", "1", "--batch-size", "8", "--algorithm", "grpo", "--group-size", "2",
                 "--reference", "none", "--device", "virtual:h200,bytes=4800MiB")
        _, record, _ = record_of(*flags)
        self.assertEqual(record["out_of_memory"]["during"], "recorded iteration")
        self.assertNotIn("of_warm_up", record["ppo"])
        _, out, err = run(*flags)
        rows = re.findall(r"^(generation|scoring) +(\S+) GiB +(\S+) GiB +(\S+) %", out, re.M)
        self.assertEqual([(name, difference) for name, *_, difference in rows],
                         [("generation", "+0.00"), ("scoring", "+0.00")], out)
        self.assertNotIn("the phases are those of the warm-up iteration", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
