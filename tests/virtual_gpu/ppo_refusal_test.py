#!/usr/bin/env python3
"""Iterations that run out of memory on a virtual card: where, whose bytes, and what avoids it, tried.

usage: ppo_refusal_test.py HEADROOM
"""

import json
import re
import subprocess
import sys
import unittest

HEADROOM = sys.argv[1]
SMALL = ("--model-size", "small", "--reward-size", "actor", "--batch-size", "8", "--prompt-len",
         "128", "--response-len", "128")


def run(*flags):
    done = subprocess.run([HEADROOM, "ppo", *flags], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def record_of(*flags):
    code, out, err = run("--format", "json", *flags)
    if not out:
        sys.exit(f"{flags}\n{err}")
    return code, json.loads(out), err


class PpoRefusalTest(unittest.TestCase):
    def refused(self, size, *flags):
        """On a card of so much memory. Returns the Record, and what was tried to run."""
        card = ("--device", f"virtual:h200,bytes={size}")
        code, record, err = record_of(*SMALL, *card, *flags)
        self.assertEqual((code, record["status"]), (4, "oom"), err)
        moment = record["out_of_memory"]
        self.assertEqual(sum(moment["component_bytes"].values()) if "component_bytes" in moment
                         else None, moment.get("requested_bytes") if "component_bytes" in moment
                         else None)
        found = [re.match(r"it runs with (--.*), tried: peak (\S+ \S+) allocated", note)
                 for note in record["notes"]]
        advice = [match for match in found if match]
        self.assertEqual(len(advice), 1, record["notes"])
        words = advice[0][1].split()
        code, runs, err = record_of(*SMALL, *card, *flags, *words)
        self.assertEqual((code, runs["status"]), (0, "ok"), err)
        return record, words

    def test_an_update_that_does_not_fit_names_the_states_and_what_swapping_takes_away(self):
        record, words = self.refused("3GiB")
        moment = record["out_of_memory"]
        self.assertEqual(moment["during"], "warm-up iteration")
        self.assertTrue(moment["phase"].startswith("training, "), moment)
        self.assertRegex(moment["grew_last"], "^(actor|critic) ")
        self.assertIn(moment["grew_last"] + " grew last", record["reason"])
        self.assertEqual(words, ["--swap-phases"])

    def test_phases_that_had_ended_stay_and_the_one_that_failed_does_not(self):
        record, _ = self.refused("3GiB")
        self.assertEqual([phase["phase"] for phase in record["ppo"]["phases"]],
                         ["generation", "scoring"])
        self.assertIn("generation", record["phases"])
        self.assertIn("scoring", record["phases"])
        self.assertNotIn("training", record["phases"])
        for phase in record["ppo"]["phases"]:
            self.assertEqual(sum(phase["component_bytes"].values()), phase["requested_bytes"])
            self.assertLessEqual(phase["requested_bytes"],
                                 record["phases"][phase["phase"]]["requested_bytes"])

    def test_models_that_do_not_fit_together_are_refused_while_they_are_built(self):
        record, words = self.refused("1800MiB")
        self.assertEqual(record["out_of_memory"]["grew_last"], "reference parameters")
        self.assertEqual(record["out_of_memory"]["during"], "building the reference")
        self.assertIn("building the reference; reference parameters grew last", record["reason"])
        self.assertNotEqual(words, [])

    def test_a_cache_that_does_not_fit_is_made_smaller(self):
        record, words = self.refused("1500MiB", "--swap-phases", "--batch-size", "96",
                                     "--max-tokens-per-micro-batch", "256", "--critic-size", "actor",
                                     "--optimizer-offload", "cpu", "--param-offload", "cpu")
        self.assertTrue(record["out_of_memory"]["phase"].startswith("generation"), record["reason"])
        self.assertIn(words[0], ("--prefill-chunk", "--kv-cache-tokens"))

    def test_the_table_says_where_whose_and_what_was_tried(self):
        code, out, err = run(*SMALL, "--device", "virtual:h200,bytes=3GiB")
        self.assertEqual(code, 4)
        for text in ("When memory ran out", "Live when memory ran out", "grew last: ",
                     "What would avoid it, tried", "--swap-phases", "runs"):
            self.assertIn(text, out)
        self.assertIn("tried --swap-phases: runs", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
