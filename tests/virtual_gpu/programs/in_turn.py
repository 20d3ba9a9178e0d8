"""Runs programs one after another, each in a process forked from one that has imported torch.

usage: in_turn.py PROGRAM[,ARGUMENT...] ...     Prints "PID PROGRAM..." of each; their own output follows.

Without the collector of cyclic garbage: it runs after so many new objects, wherever they come from, and what it
frees would make the events of two runs differ.
"""

import gc
import os
import runpy
import sys

import torch._dynamo  # noqa: F401  the largest part of a start: the first step of an optimizer imports it


def main() -> None:
    for text in sys.argv[1:]:
        pid = os.fork()
        if pid == 0:
            gc.disable()
            sys.argv = text.split(",")
            sys.path[0] = os.path.dirname(sys.argv[0])
            runpy.run_path(sys.argv[0], run_name="__main__")
            return
        print(pid, text, flush=True)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
