"""A program on a terminal of the test's own: what it shows there."""

import fcntl
import os
import pty
import struct
import subprocess
import termios

ROWS = 50


def shown(command, environment, *, stdout=True, stderr=True, columns=0, folder=None):
    """All that `command` writes to the terminal, escapes and redrawn lines as they came.

    Of the two streams, the one that is not to be on it goes to /dev/null. columns: its width; 0 = it
    does not say.
    """
    parent, child = pty.openpty()
    if columns:
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    text = b""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=folder, env=environment,
                          stdout=child if stdout else subprocess.DEVNULL,
                          stderr=child if stderr else subprocess.DEVNULL):
        os.close(child)
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:  # the program has gone
                break
            if not piece:
                break
            text += piece
    os.close(parent)
    return text.decode()
