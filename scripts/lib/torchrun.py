"""torchrun, without its report: a rank that fails has said why in one line of its own.

usage: torchrun.py ARGUMENTS OF TORCHRUN...      Exit 0 all ranks ended well, 4 one did not, 130
interrupted, 5 torchrun could not start them.
"""

import logging
import sys

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import main


def run():
    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL)
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
