"""What depends on the version of PyTorch: the versions that are tested, and our libraries that are compiled for one.

The classes of libtorch's C++ interface differ between versions, so a library that uses them serves one
version alone: lib/torch-2.11/ holds those for 2.11. scripts/torch_libraries.sh builds them for another.
"""

import os
import sys

# studies/programs/check_wheels.sh and scripts/torch_versions.sh run these.
TESTED = ("2.11", "2.12", "2.13", "2.14", "2.15")


def of(torch):
    """2.15.0+cu132 is "2.15"."""
    return ".".join(torch.__version__.split(".")[:2])


def library(torch, name):
    """The path of a library of ours for this libtorch; None if there is none."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.path.join(folder, f"torch-{of(torch)}", name)
    return path if os.path.exists(path) else None


def missing(torch):
    """The cause, and the command that ends it."""
    return f"there is no library for torch {of(torch)}: scripts/torch_libraries.sh {sys.executable} builds it"
