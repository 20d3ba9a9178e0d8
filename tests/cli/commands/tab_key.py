"""Types a line with Tab keys into an interactive shell, and prints the arguments that `headroom` then gets: "got a b;".

usage: tab_key.py PREPARE TYPED SHELL...
PREPARE is a line that makes the completion known; in TYPED "\\t" is the Tab key. Exit code 1 if the shell does not answer.
"""

import os
import pty
import select
import sys
import time

DEADLINE_SECONDS = 60
# Split by quotes, so that the echo of the typed line is not taken for the answer.
STAND_IN = 'headroom() { echo g""ot "$*;"; }; echo lo""aded; '


class Shell:
    def __init__(self, words):
        self.seen = ""
        child, self.terminal = pty.fork()
        if child == 0:
            os.environ.update(TERM="dumb", HOME=os.getcwd())
            os.execvp(words[0], words)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, text):
        """What is shown until the end of the line with this text."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while text not in self.seen or "\n" not in self.seen.split(text, 1)[1]:
            if time.monotonic() > deadline:
                sys.exit(f"no {text!r} in {self.seen!r}")
            if select.select([self.terminal], [], [], 1)[0]:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        before, found, rest = self.seen.partition(text)
        line, _, self.seen = rest.partition("\n")
        return before + found + line


def main():
    prepare, typed, *words = sys.argv[1:]
    shell = Shell(words)
    shell.type(f"{prepare}; {STAND_IN}\n")
    shell.read_until("loaded")
    shell.type(typed.replace("\\t", "\t") + "\n")
    # Shells add a space after a whole word.
    print(" ".join(shell.read_until("got ").replace(" ;", ";").split()))
    shell.type("exit\n")


if __name__ == "__main__":
    main()
