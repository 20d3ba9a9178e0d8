#!/usr/bin/env python3
"""The report of a process under the stand-in, however the process ends and whatever it starts.

usage: report_test.py ENDINGS        (programs/endings.cpp, built)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ENDINGS = str(Path(sys.argv[1]).absolute())
MEBI = 2**20
CARD = "name=Test;compute_capability=9.0;multiprocessors=4;total_bytes=1073741824"


class Run:
    """One run of endings; `peaks`: of every report it left, by process, in the order of the files."""

    def __init__(self, how: str):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "HEADROOM_VIRTUAL_CARD": CARD,
                           "HEADROOM_VIRTUAL_REPORT": f"{folder}/report"}
            program = subprocess.Popen([ENDINGS, how], env=environment)
            self.code = program.wait(60)
            self.pid = program.pid
            self.files = sorted(path.name for path in Path(folder).iterdir())
            reports = [json.loads(path.read_text()) for path in sorted(Path(folder).iterdir())]
        self.peaks = [(report["pid"], report["devices"][0]["peak_bytes"]) for report in reports]


class Report(unittest.TestCase):
    def assert_one_whole_report(self, how: str, code: int = 0):
        with self.subTest(how):
            run = Run(how)
            self.assertEqual(run.code, code)
            self.assertEqual(run.peaks, [(run.pid, 512 * MEBI)])

    def test_every_way_to_end_is_reported(self):
        for how in ("return", "_exit", "_Exit", "quick_exit"):
            self.assert_one_whole_report(how)
        self.assert_one_whole_report("abort", code=-6)

    def test_a_missing_tool_changes_nothing(self):
        for how in ("vfork", "posix_spawn", "exec_fails"):
            self.assert_one_whole_report(how)

    def test_a_forked_child_that_used_no_card_reports_nothing(self):
        for how in ("fork_exit", "fork__exit", "fork_quick_exit", "fork_abort", "fork_exec"):
            self.assert_one_whole_report(how)

    def test_a_program_that_is_replaced_reports_first_and_its_successor_beside_it(self):
        for how in ("execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe"):
            with self.subTest(how):
                run = Run(how)
                self.assertEqual(run.code, 0)
                self.assertEqual(run.files,
                                 [f"report.{run.pid}.2.json", f"report.{run.pid}.json"])
                self.assertEqual(run.peaks, [(run.pid, 256 * MEBI), (run.pid, 512 * MEBI)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
