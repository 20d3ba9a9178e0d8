"""Runs a program, and ends without taking Python and torch apart, which takes one or two seconds of CPU time.

usage: quick_end.py PROGRAM [ARGUMENT ...]

Nothing is lost by it: all that is to be called at the end is called. A program that fails ends as programs do.
"""

import atexit
import os
import runpy
import sys


def end(code: int = 0) -> None:
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")
    end()
