"""The files of a comparison: one JSON line per result as it ends, and the table made from them.

Results are added, never replaced: each comparison gets a name that is not taken.
"""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

EXIT_USAGE, EXIT_UNWRITABLE, EXIT_INTERRUPTED = 2, 5, 130


class Result(Protocol):
    def to_json(self) -> str: ...


R = TypeVar("R", bound=Result)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def new_file(folder: Path, prefix: str = "") -> Path:
    """FOLDER/<prefix><date>.jsonl, or _2, _3, ...; it is there, empty, before anything runs."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = prefix + datetime.datetime.now(datetime.UTC).date().isoformat()
    taken = {path.name for path in folder.glob(f"{stem}*")}
    names = [f"{stem}.jsonl"] + [f"{stem}_{i}.jsonl" for i in range(2, len(taken) + 3)]
    path = folder / next(name for name in names if name not in taken)
    path.touch(exist_ok=False)
    return path


def append(path: Path, result: Result) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(result.to_json() + "\n")
        file.flush()
        os.fsync(file.fileno())


def write_whole(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def print_again(path: Path, from_json: Callable[[str], R], table: Callable[[list[R]], str]) -> int:
    """The table of an earlier comparison; the exit code."""
    try:
        results = [from_json(text) for text in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        say(f"--report: {path} is not a file of comparison results ({error})")
        return EXIT_USAGE
    print(table(results))
    return 0


def compare_into(
    folder: Path,
    prefix: str,
    compare: Callable[[Path], list[R]],
    table: Callable[[list[R]], str],
    exit_code: Callable[[list[R]], int],
) -> int:
    """Runs a comparison into a new file, writes and prints its table; the exit code."""
    try:
        out = new_file(folder, prefix)
        results = compare(out)
        report = table(results)
        write_whole(out.with_suffix(".md"), report + "\n")
    except OSError as error:
        say(f"--output: cannot write {error.filename or folder}: {error.strerror}")
        return EXIT_UNWRITABLE
    except KeyboardInterrupt:
        say("Interrupted; what had ended is in the .jsonl file.")
        return EXIT_INTERRUPTED
    print(report)
    say(f"Written: {out} and {out.with_suffix('.md').name}")
    return exit_code(results)
