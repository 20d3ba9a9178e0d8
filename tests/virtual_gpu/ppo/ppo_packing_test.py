#!/usr/bin/env python3
"""On skewed lengths a budget of tokens is kept, no padding is computed, and the peak follows the budget.

usage: ppo_packing_test.py HEADROOM [unittest arguments]
"""

import json
import shlex
import subprocess
import sys
import unittest

HEADROOM = ""
BASE = ("--model-size small --layers 4 --param-dtype bf16 --attention sdpa --context-length 320 --prompt-len 256 "
        "--response-len 64 --batch-size 16 --epochs 1 --device virtual:h100-80gb --format json")


def run(lengths, budget):
    flags = f"{BASE} --prompt-lengths {lengths} --max-tokens-per-micro-batch {budget}"
    done = subprocess.run([HEADROOM, "ppo", *shlex.split(flags)], capture_output=True, text=True,
                          check=True)
    record = json.loads(done.stdout)
    return record["ppo"]["packing"], record["phases"]["training"]["allocated_bytes"]


class Packing(unittest.TestCase):
    def test_a_budget_is_kept_and_padding_is_not_computed(self):
        padded, padded_peak = run("even", 4 * 320)
        self.assertEqual(padded, {"micro_batches": 4, "tokens": 16 * 320, "most_tokens": 4 * 320})
        packed, packed_peak = run("skewed", 4 * 320)
        self.assertLess(packed["tokens"], 0.7 * padded["tokens"])
        self.assertLess(packed["micro_batches"], padded["micro_batches"])
        self.assertLessEqual(packed["most_tokens"], 4 * 320)
        # The begins and ends of sequences are a few numbers more than for rows of equal length.
        self.assertLessEqual(packed_peak, padded_peak + 4096)

    def test_a_smaller_budget_is_a_lower_peak(self):
        peaks = [run("skewed", budget)[1] for budget in (0, 1280, 320)]
        self.assertEqual(peaks, sorted(peaks, reverse=True))
        self.assertLess(peaks[2], peaks[0])


if __name__ == "__main__":
    HEADROOM = sys.argv.pop(1)
    unittest.main()
