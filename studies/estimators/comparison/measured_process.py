"""One process with a time limit, its wall time and its own peak of resident memory.

No torch here, nor anywhere in the program that starts the tools: Linux counts the pages a child
shares with its parent before exec, so the parent's size is the least that can be measured.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    exit_code: int  # negative: the signal that ended it
    timed_out: bool
    seconds: float
    peak_rss_bytes: int  # the largest of the process and the children it waited for
    stdout: str
    stderr: str


class Deadline:
    """Kills a process and what it started when its time is over."""

    def __init__(self, pid: int, limit_s: float) -> None:
        self.pid = pid
        self.passed = False
        self.timer = threading.Timer(limit_s, self.expire)
        self.timer.start()

    def expire(self) -> None:
        self.passed = True
        self.kill()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def run_measured(
    command: list[str], limit_s: float, folder: Path, environment: Mapping[str, str]
) -> Outcome:
    """Runs it in `folder`. OSError when it cannot be started."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        deadline = Deadline(process.pid, limit_s)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            deadline.kill()
            process.wait()
            raise
        finally:
            deadline.timer.cancel()
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return Outcome(
        process.returncode, deadline.passed, seconds, usage.ru_maxrss * 1024, texts[0], texts[1]
    )
