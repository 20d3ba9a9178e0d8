"""Runs a command that fills folders, and shows how far it is, with an ETA, on file descriptor 3.

usage: setup_progress.py WHAT MIB FOLDER... -- COMMAND...
WHAT is the text in front; MIB is what the folders hold together in the end, with what is downloaded and removed again.
The exit code is the command's. The form of the line is that of build_progress.py.
"""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from build_progress import SILENT_SECONDS, Display, duration  # noqa: E402

MIB = 1 << 20
PROGRESS_DESCRIPTOR = 3


def bytes_in(folder):
    """Files that vanish meanwhile count as none."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


class Filling:
    last = ""

    def __init__(self, what, expected, folders):
        self.what = what
        self.expected = expected
        self.folders = folders
        self.first = self.size()
        self.most = 0

    def size(self):
        return sum(bytes_in(folder) for folder in self.folders)

    def text(self, elapsed):
        # Downloaded files are removed at the end.
        self.most = max(self.most, self.size() - self.first)
        done = min(self.most, self.expected)
        line = f"{self.what}: {done // MIB:,} of about {self.expected // MIB:,} MiB, {duration(elapsed)}"
        if done == 0:
            return line
        left = elapsed * (self.expected - done) / done
        return line + (f", ETA {duration(left)}" if left >= 1 else "")


def main():
    what, expected, *words = sys.argv[1:]
    at = words.index("--")
    filling = Filling(what, int(expected) * MIB, words[:at])
    with os.fdopen(PROGRESS_DESCRIPTOR, "w") as stream:
        display = Display(stream)
        start = time.monotonic()
        with subprocess.Popen(words[at + 1 :]) as command:
            while True:
                try:
                    command.wait(timeout=1)
                    break
                except subprocess.TimeoutExpired:
                    elapsed = time.monotonic() - start
                    if elapsed >= SILENT_SECONDS:
                        display.show(filling, elapsed)
        display.finish()
    sys.exit(command.returncode if command.returncode >= 0 else 128 - command.returncode)


if __name__ == "__main__":
    main()
