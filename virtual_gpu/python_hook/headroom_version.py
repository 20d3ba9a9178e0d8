"""What depends on the version of PyTorch: the versions that are tested, and our libraries that are compiled for one.

The classes of libtorch's C++ interface differ between versions, so a library that uses them serves one
version alone: lib/torch-2.11/ holds those for 2.11. scripts/torch_libraries.sh builds them for another.
"""

import os
import re
import sys

# studies/programs/check_wheels.sh runs these and those between.
OLDEST = (2, 4)
NEWEST = (2, 15)
OPERATIONS = "libheadroom_operations.so"


def release(torch):
    """(2, 11) of 2.11.0+cu130."""
    return tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])


def of(torch):
    """2.15.0+cu132 is "2.15"."""
    return ".".join(map(str, release(torch)))


def library(torch, name):
    """The path of a library of ours for this libtorch; None if there is none."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.path.join(folder, f"torch-{of(torch)}", name)
    return path if os.path.exists(path) else None


def missing(torch):
    """The cause, and the command that ends it."""
    return f"there is no library for torch {of(torch)}: scripts/torch_libraries.sh {sys.executable} builds it"


def lacks(torch, host_reads):
    """Sentences for the report: what has an effect on this program."""
    has_effect = host_reads or "HEADROOM_DRYRUN_ROUTE" in os.environ
    if not has_effect or library(torch, OPERATIONS) is not None:
        return []
    return [f"results of operations on known values are unknown: {missing(torch)}"]
