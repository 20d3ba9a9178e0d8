"""The tensors of a step that MemTracker sees: a figure without a state is wrong, without any error."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

ESTIMATORS = Path(__file__).resolve().parents[3] / "studies/estimators"
sys.path.insert(0, str(ESTIMATORS))

import memtracker  # noqa: E402
import torch  # noqa: E402
from program import parameter_count  # noqa: E402
from workload import make_parser  # noqa: E402

SHAPE = ["--d-model", "32", "--d-ff", "64", "--layers", "2", "--heads", "2", "--kv-heads", "2"]
# Activations many times the states, so that the peak of training is in its backward.
SHAPE += ["--vocab-size", "50", "--context-length", "256", "--batch-size", "2"]


def peak(mode: str, precision: str = "fp32") -> int:
    flags = [*SHAPE, "--profile-type", mode, "--precision", precision]
    return memtracker.peak_bytes(make_parser("test").parse_args(flags))


class MemTrackerOfAStep(unittest.TestCase):
    def test_both_moments_are_there_from_the_beginning(self):
        parameters = parameter_count(make_parser("test").parse_args(SHAPE))
        moments = 2 * 4 * parameters
        difference = peak("training") - peak("forward-backward")
        self.assertEqual(difference, moments)

    def test_autocast_narrows_what_is_kept(self):
        self.assertLess(peak("forward-grad", "bf16"), peak("forward-grad"))


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
