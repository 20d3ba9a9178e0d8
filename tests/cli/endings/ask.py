#!/usr/bin/env python3
"""Starts a program, leaves it alone until it waits, and asks it once to end.

usage: ask.py SIGNAL [--when FILE] PROGRAM...

It waits when it and its cells sleep, or, with --when, as soon as there is that file. Its output goes to
`out` and `err`. Python starts it, as a shell's background jobs are deaf to ^C.
"""

import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from processes import asleep, until  # noqa: E402

QUICK = 2  # seconds, on a machine that is not busy


def main():
    number, words = getattr(signal, "SIG" + sys.argv[1]), sys.argv[2:]
    begun = ""
    if words[0] == "--when":
        begun, words = words[1], words[2:]
    began = time.monotonic()
    process = subprocess.Popen(words, stdout=open("out", "w"), stderr=open("err", "w"))
    until(lambda: process.poll() is not None or (Path(begun).exists() if begun else asleep(process.pid)),
          "begins to wait")
    if process.poll() is not None:
        sys.exit(f"ended by itself with {process.returncode}: " + Path("err").read_text())
    took = time.monotonic() - began  # how busy the machine is
    process.send_signal(number)
    try:
        ended = process.wait(timeout=QUICK + 10 * took)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit("did not end")
    if ended not in (130, -number):
        sys.exit(f"exit {ended}")


if __name__ == "__main__":
    main()
