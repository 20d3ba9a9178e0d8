"""The eight cells of EnzoDing-rgb/cs336-assignment2-systems by its own memory_profiling/profile.py, in suite.py's order
and in one process. Under `headroom dryrun`, with the torch that it was measured with.

usage: program_cells.py CHECKOUT OUTPUT.json
"""

import json
import sys
import tempfile
import types
from pathlib import Path

import torch

PRECISIONS = {"off": "fp32", "bf16": "bf16"}
MODES = {"forward": "forward-grad", "train": "training"}


def main():
    checkout, output = map(Path, sys.argv[1:])
    sys.path[:0] = [str(checkout), str(checkout / "cs336-basics")]
    # It plots with these beside what it measures.
    sys.modules["matplotlib"] = types.ModuleType("matplotlib")
    sys.modules["matplotlib.pyplot"] = types.ModuleType("matplotlib.pyplot")
    from cs336_systems.memory_profiling.profile import MemoryCellConfig, profile_cell

    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for context in (128, 512):
            for mode in MODES:
                for precision in PRECISIONS:
                    config = MemoryCellConfig(
                        model_size="xl", context_length=context, batch_size=4, mode=mode, mixed_precision=precision, warmup=2
                    )
                    result = profile_cell(config, Path(folder))
                    cells.append({
                        "context_length": context, "profile_type": MODES[mode], "precision": PRECISIONS[precision],
                        "peak": result["peak_allocated_bytes"],
                        **{name: stage["max_allocated_bytes"] for name, stage in result["stages"].items()},
                    })  # fmt: skip
    output.write_text(json.dumps({"torch": torch.__version__, "cells": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
