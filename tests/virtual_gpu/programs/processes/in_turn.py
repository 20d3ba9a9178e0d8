"""Runs programs one after another, each in a process forked from one that has imported torch.

usage: in_turn.py [--threads] PROGRAM[,ARGUMENT...] ...     Prints "PID PROGRAM..." of each; their own output follows.

Two things would make the events of two runs differ, and are off: the collector of cyclic garbage, which runs after
so many new objects, wherever they come from; and the threads of autograd, which free the last gradients of a
backward pass before or after the main thread's next allocation. --threads leaves both as they are, and a program may
turn its threads on again.
"""

import gc
import os
import runpy
import sys

import torch
import torch._dynamo  # noqa: F401  the largest part of a start: the first step of an optimizer imports it
from quick_end import end


def main() -> None:
    as_they_are = sys.argv[1] == "--threads"
    for text in sys.argv[1 + as_they_are:]:
        pid = os.fork()
        if pid == 0:
            if not as_they_are:
                gc.disable()
                torch.autograd.set_multithreading_enabled(False)
            sys.argv = text.split(",")
            sys.path[0] = os.path.dirname(sys.argv[0])
            runpy.run_path(sys.argv[0], run_name="__main__")
            end()
        print(pid, text, flush=True)
        os.waitpid(pid, 0)
    end()


if __name__ == "__main__":
    main()
