"""Puts studies/peers on the module path: its workload is what every tool here is asked about."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "studies/peers"
sys.path.append(str(PEERS))
