"""Puts the comparison of one GPU, studies/peers and the test programs' model on the module path."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
for folder in ("studies/estimators", "studies/peers", "tests/virtual_gpu/programs/distributed"):
    sys.path.append(str(ROOT / folder))
