"""Flags whose mistakes are told in one line. No torch here: compare.py starts no library."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn


class OneLineParser(argparse.ArgumentParser):
    """No abbreviated flags, and no page of usage in front of what is wrong; exit code 2."""

    def __init__(self, description: str) -> None:
        super().__init__(description=description, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        refuse(f"{self.prog}: {message} (--help lists the flags)")


def refuse(problem: str) -> NoReturn:
    print(problem, file=sys.stderr)
    raise SystemExit(2)


def whole_number(minimum: int):
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < minimum:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {minimum}")
        return int(text)

    return parse


positive = whole_number(1)
natural = whole_number(0)
