"""The tier of a test in Python: `pr` runs part of a file, `ctest -C nightly` all of it."""

import os
import unittest

IS_NIGHT = "HEADROOM_LONG" in os.environ  # ctest -C nightly sets it

at_night = unittest.skipUnless(IS_NIGHT, "runs at night: ctest -C nightly")


def share_by_day(cases, step=2):
    """At night all cases, by day every `step`-th: share_by_day() of tests/support/at_night.h."""
    return list(cases)[:: 1 if IS_NIGHT else step]
