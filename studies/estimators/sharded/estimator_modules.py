"""Puts the comparison of one GPU, studies/peers and the test programs' model on the module path."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDERS = (
    "studies/estimators",
    "studies/estimators/comparison",
    "studies/peers",
    "tests/virtual_gpu/programs/distributed",
)
for folder in FOLDERS:
    sys.path.append(str(ROOT / folder))
