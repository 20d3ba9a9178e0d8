#!/usr/bin/env python3
"""Messages of headroom while a cell runs: one line redrawn on a terminal, few lines elsewhere.

usage: progress_test.py HEADROOM STUB_CELL [unittest arguments]
"""

import json
import os
import re
import subprocess
import sys
import unittest

import terminal

HEADROOM = STUB_CELL = ""
SLOW = ("--model-size", "small", "--batch-size", "15")  # the stub takes half a second and tells its steps
FOUR = ("--context-length", "64,128,256,512", "--jobs", "1")


def environment(**more):
    return {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", "HEADROOM_CELL": STUB_CELL, **more}


def run(*words):
    return subprocess.run([HEADROOM, *words], capture_output=True, text=True, check=False,
                          env=environment())


def stderr_on_a_terminal(*words, columns=0, **more):
    return terminal.shown([HEADROOM, *words], environment(**more), stdout=False, columns=columns)


class Progress(unittest.TestCase):
    def test_a_terminal_shows_device_step_and_eta_on_one_line(self):
        text = stderr_on_a_terminal("profile", *SLOW)
        frames = text.split("\r\033[K")
        self.assertTrue(any("stub device: building" in frame for frame in frames), frames)
        self.assertTrue(any("on stub device: step 3 of 4 (measured), ETA " in frame
                            for frame in frames), frames)
        # A message meanwhile has its own line, and nothing is left of the redrawn one.
        self.assertIn("stub: about to begin\r\n", text)
        self.assertTrue(text.endswith("\r\033[K"), frames)

    def test_a_long_name_leaves_room_for_step_and_eta(self):
        long = ("--profile-type", "training", "--micro-batches", "3", "--attention", "sdpa", "--recompute",
                "every:2", "--activations", "int8:block=32,min=1MiB", "--optimizer", "adam8bit")
        text = stderr_on_a_terminal("profile", *SLOW, *long, columns=80)
        self.assertRegex(text, r"\x1b\[Ksmall_ctx512\S*\.\.\.\S+ on stub device: step 3 of 4 \(measured\), ETA \d+ s")
        text = stderr_on_a_terminal("sweep", *SLOW, *long, *FOUR, columns=80)
        self.assertRegex(text, r"\x1b\[Kcell 4 of 4: small_ctx512\S*\.\.\.\S+ step 2 of 4, ETA \d+ s")
        self.assertEqual([line for line in re.split(r"[\r\n]+", text.replace("\x1b[K", "")) if len(line) > 80], [])

    def test_a_dumb_terminal_gets_lines(self):
        self.assertNotIn("\033", stderr_on_a_terminal("profile", *SLOW, TERM="dumb"))

    def test_a_sweep_says_which_cell_of_how_many(self):
        text = stderr_on_a_terminal("sweep", *SLOW, *FOUR)
        self.assertIn("cell 1 of 4: small_ctx64_forward_fp32", text)
        self.assertRegex(text, r"cell 4 of 4: small_ctx512_forward_fp32\S*, step 2 of 4, ETA \d+ s")
        self.assertRegex(text, r"\[3/4\] small_ctx256\S* ok .* s, ETA \d+ s\r\n")

    def test_the_first_cells_which_load_libtorch_forecast_nothing(self):
        text = stderr_on_a_terminal("sweep", *SLOW, "--context-length", "128,256")
        self.assertNotIn("ETA", text)

    def test_a_file_gets_one_line_of_a_short_run_and_no_mark_of_ours(self):
        done = run("profile", *SLOW)
        lines = done.stderr.splitlines()
        self.assertEqual(lines[0], "stub: about to begin")
        self.assertRegex(lines[1], r"^small_ctx512_forward_fp32\S* on stub device: 4 steps$")
        self.assertEqual(len(lines), 2, lines)
        self.assertNotIn("\033", done.stderr)

    def test_stdout_holds_the_data_alone(self):
        self.assertEqual(json.loads(run("profile", *SLOW, "--format", "json").stdout)["status"], "ok")

    def test_the_last_word_of_a_crash_is_not_its_progress(self):
        done = run("profile", "--model-size", "small", "--batch-size", "13")
        self.assertNotIn("headroom-progress", done.stderr + done.stdout)


if __name__ == "__main__":
    HEADROOM, STUB_CELL = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    unittest.main()
