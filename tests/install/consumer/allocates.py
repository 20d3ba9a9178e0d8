"""Allocates MIB MiB on the card. usage: allocates.py MIB"""

import sys

import torch

torch.empty(int(sys.argv[1]) << 20, dtype=torch.uint8, device="cuda")
