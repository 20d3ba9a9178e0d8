#!/usr/bin/env python3
"""The report of a process under the stand-in, however the process ends and whatever it starts.

usage: report_test.py ENDINGS        (programs/native/endings.cpp, built)
"""

from __future__ import annotations

import json
import os
import signal
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

    def __init__(self, how: str, kill: int = 0):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "HEADROOM_VIRTUAL_CARD": CARD,
                           "HEADROOM_VIRTUAL_REPORT": f"{folder}/report"}
            program = subprocess.Popen([ENDINGS, how], env=environment, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            if kill:
                program.stdout.readline()
                program.send_signal(kill)
            self.err = program.communicate(timeout=60)[1]
            self.code = program.returncode
            self.pid = program.pid
            paths = sorted(Path(folder).iterdir())
            self.files = [path.name for path in paths]
            self.reports = [json.loads(p.read_text()) for p in paths if p.suffix == ".json"]
        self.peaks = [(report["pid"], report["devices"][0]["peak_bytes"])
                      for report in self.reports]


class Report(unittest.TestCase):
    def assert_one_whole_report(self, how: str, code: int = 0, kill: int = 0) -> Run:
        with self.subTest(how=how, kill=kill):
            run = Run(how, kill)
            self.assertEqual(run.code, code, run.err)
            self.assertEqual(run.peaks, [(run.pid, 512 * MEBI)])
            self.assertEqual(run.files, [f"report.{run.pid}.json"])
            self.assertEqual(run.reports[0]["ended_by_signal"], max(-code, 0) if code != -6 else 0)
            return run

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

    def test_a_signal_that_ends_the_process_is_reported_and_ends_it(self):
        for kill in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGXCPU):
            self.assert_one_whole_report("hangs", code=-kill, kill=kill)
        self.assert_one_whole_report("raise", code=-signal.SIGTERM)
        self.assert_one_whole_report("default_again", code=-signal.SIGINT)

    def test_a_signal_of_the_programs_own_is_left_to_it(self):
        for how, code in (("handled", 3), ("dispositions", 0), ("child_killed", 0)):
            self.assert_one_whole_report(how, code)

    def test_a_process_that_is_killed_leaves_its_mark(self):
        run = Run("hangs", signal.SIGKILL)
        self.assertEqual(run.files, [f"report.{run.pid}.running"])

    def test_reads_are_counted_where_they_are_and_a_loop_of_them_is_named(self):
        run = self.assert_one_whole_report("reads")
        place, = run.reports[0]["host_reads"]
        self.assertEqual((place["count"], place["bytes"]), (1500, 6000))
        self.assertTrue(any(frame["library"].endswith("endings") for frame in place["stack"]))
        self.assertIn("1000 reads of device values in a row", run.err)
        self.assertEqual(run.err.count("shown once"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
