"""torchrun, without its report: a rank that fails has said why in one line of its own.

usage: torchrun.py ARGUMENTS OF TORCHRUN...      Exit 0 all ranks ended well, 4 one did not, 130
interrupted, 5 torchrun could not start them.
"""

import logging
import os
import sys

# Agents part at a barrier in machine 0's store, which goes with machine 0's: one that asks it a
# moment later fails there, after its ranks have ended well, and torchrun goes on after a traceback
# in Python and one in C++. The level of the latter is read on import; the ranks keep theirs.
CPP_LEVEL = "TORCH_CPP_LOG_LEVEL"
of_ranks = os.environ.get(CPP_LEVEL)
os.environ.setdefault(CPP_LEVEL, "ERROR")

# ruff: noqa: E402
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import main

if of_ranks is None:
    del os.environ[CPP_LEVEL]


def run():
    if "LOGLEVEL" not in os.environ:  # torchrun's: its loggers have levels of their own by it
        logging.disable(logging.CRITICAL)
    try:
        main()
    except ChildFailedError:
        return 4
    except (SignalException, KeyboardInterrupt):
        return 130
    except Exception as error:  # noqa: BLE001  whatever it is, one line of it
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        print(f"torchrun: {first}", file=sys.stderr)
        return 5
    return 0


sys.exit(run())
