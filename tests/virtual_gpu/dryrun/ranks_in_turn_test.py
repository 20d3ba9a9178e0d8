#!/usr/bin/env python3
"""Ranks of one job that run one after the other under `headroom dryrun`: later ones are told what
earlier ones sent.

usage: ranks_in_turn_test.py HEADROOM

Runs under the Python whose torch the programs use; without one it is skipped (77).
"""

from __future__ import annotations

import importlib.util
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import at_night  # noqa: E402
from ranks_test import RANKS, Result, alone, taken  # noqa: E402

PIPELINE = "distributed/pipeline.py"


class InTurn(unittest.TestCase):
    @at_night
    def test_a_stage_alone_learns_its_shapes_from_the_stages_that_ran_before_it(self):
        together = Result(program=PIPELINE)
        result = alone(world=RANKS, ranks="0-1", program=PIPELINE)
        self.assertEqual((together.code, result.code), (0, 0), result.err)
        self.assertEqual([taken(r) for r in result.ranks], [taken(r) for r in together.ranks])

    def test_a_rank_alone_is_told_what_a_rank_before_it_sent(self):
        result = alone(world=4, ranks="0,2", program="ranks/ranks_in_turn.py")
        self.assertEqual(result.code, 0, result.err)


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
