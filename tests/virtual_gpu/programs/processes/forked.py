"""Runs a program once per rank of one host, like torchrun, but imports torch once and forks.

usage: forked.py RANKS PROGRAM [ARGUMENT ...]
Exits with the first exit code of a rank that is not 0; the other ranks are terminated then.
"""

import os
import runpy
import signal
import sys
from pathlib import Path

import torch.distributed.tensor  # noqa: F401  the largest part of a program's start

sys.path.append(str(Path(__file__).resolve().parents[3] / "support"))
from processes import free_port  # noqa: E402
from quick_end import end  # noqa: E402


def run(rank: int, ranks: int, port: int) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    sys.path[0] = os.path.dirname(sys.argv[0])
    # One write for a line: with PYTHONUNBUFFERED print() makes two, and the ranks share a pipe.
    sys.stdout.reconfigure(line_buffering=True, write_through=False)
    runpy.run_path(sys.argv[0], run_name="__main__")
    end()


def main() -> None:
    ranks = int(sys.argv[1])
    sys.argv = sys.argv[2:]
    port = free_port()
    running = set()
    for rank in range(ranks):
        pid = os.fork()
        if pid == 0:
            run(rank, ranks, port)
        running.add(pid)
    code = 0
    while running:
        pid, status = os.wait()
        running.discard(pid)
        code = code or abs(os.waitstatus_to_exitcode(status))
        if code:
            for other in running:
                os.kill(other, signal.SIGTERM)
    end(code)


if __name__ == "__main__":
    main()
