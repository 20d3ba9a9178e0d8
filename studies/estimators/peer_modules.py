"""Puts comparison/ and studies/peers, the workload of every tool here, on the module path."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
for folder in ("studies/estimators/comparison", "studies/peers"):
    sys.path.append(str(ROOT / folder))
