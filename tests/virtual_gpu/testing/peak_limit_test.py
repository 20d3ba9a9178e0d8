#!/usr/bin/env python3
"""headroom_memory.peak_limit under `headroom dryrun`: at the limit, a byte below it, as a decorator, and wrong sizes.

usage: peak_limit_test.py HEADROOM
"""

import importlib.util
import subprocess
import sys
import unittest

HEADROOM = ""
PROGRAM = """
import torch
from headroom_memory import peak_limit

def allocate(mebi):
    torch.empty(mebi << 20, dtype=torch.uint8, device="cuda")

allocate(64)  # before the limit: its peak does not count
with peak_limit("32MiB"):
    allocate(32)
peak_limit(33554432)(allocate)(32)
for size, mebi in (("33554431", 32), ("31.5MiB", 32), ("1GB", 1024)):
    try:
        with peak_limit(size):
            allocate(mebi)
    except AssertionError as error:
        print(error)
for size in ("12", "1.5GB"):
    with peak_limit(size):
        pass
for size in ("12Gib", "-1", "much"):
    try:
        with peak_limit(size):
            pass
    except ValueError as error:
        print(error)
"""


class PeakLimit(unittest.TestCase):
    def test_a_byte_more_is_an_error_that_says_so(self):
        done = subprocess.run([HEADROOM, "dryrun", "--card", "rtx4090", "--", sys.executable, "-c", PROGRAM],
                              capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        for line, text in zip(lines, ("33,554,432 B, 1 B more than 33554431; headroom dryrun --breakdown",
                                      "524,288 B more than 31.5MiB", "73,741,824 B more than 1GB",
                                      "'12Gib' is no size; allowed: ", "'-1' is no size", "'much' is no size"),
                              strict=True):
            self.assertIn(text, line)


if __name__ == "__main__":
    HEADROOM = sys.argv[1]
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
