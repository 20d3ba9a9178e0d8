"""A test case of Megatron-LM: its checkout, its own flags, and its module path.

The checkout is where the environment variable MEGATRON_LM points; its data set helper is built, as
studies/megatron/compare_distributed.sh wants it.
"""

from __future__ import annotations

import os
import sys

from estimator_modules import ROOT

LIBRARY = ROOT / "studies/megatron"


def checkout() -> str:
    """Empty where there is none."""
    path = os.environ.get("MEGATRON_LM", "")
    return path if os.path.isfile(os.path.join(path, "pretrain_gpt.py")) else ""


def enter(case: str, work: str) -> None:
    """Makes this process one that was started as `python pretrain_gpt.py FLAGS` in the checkout."""
    sys.path.append(str(LIBRARY))
    import megatron_case

    place, name = checkout(), f"gpt/{case}"
    os.environ.update(megatron_case.section(place, name, "ENV_VARS"))
    flags = megatron_case.arguments(place, name, work)
    if "--no-persist-layer-norm" not in flags:  # that case wants Apex
        sys.path.append(str(LIBRARY / "apex_stand_in"))
    sys.path.insert(0, place)
    os.chdir(place)
    sys.argv = ["pretrain_gpt.py", *flags]
