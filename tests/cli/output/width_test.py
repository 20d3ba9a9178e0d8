#!/usr/bin/env python3
"""headroom on a terminal of 80, 120 and 200 columns: no line runs over, no word is cut or lost. In a
pipe tables are folded to 160 columns; in a file they are as wide as needed.

usage: width_test.py HEADROOM STUB_CELL MAKE_SNAPSHOT [unittest arguments]
"""

import os
import re
import subprocess
import sys
import tempfile
import unicodedata
import unittest
from pathlib import Path

import terminal

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT  # noqa: E402

HEADROOM = STUB_CELL = MAKE_SNAPSHOT = ""
ROOT = Path(__file__).resolve().parents[3]
WIDTHS = (80, 120, 200)
ESCAPE = re.compile(r"\033\[[0-9;]*[A-Za-z]")
COMMANDS = "profile sweep table theory fit dryrun finetune serve rlhf budget snapshot compare report plot cards doctor completion".split()
HELP = [["--help"], ["--version"], ["help", "sweep"], *([name, "--help"] for name in COMMANDS)]
STUB_RUNS = ["--model-size", "small", "--device", "virtual:h200"]
TECHNIQUES = [*STUB_RUNS, "--profile-type", "training", "--micro-batches", "2", "--max-grad-norm", "1",
              "--recompute", "every:3", "--activations", "int8:block=32,min=1MiB", "--attention", "sdpa"]
FEW_LAYERS = [] if IS_NIGHT else ["--layers", "4"]  # pages of large models take seconds
TABLES = [
    ["theory", "--model-size", "small"],
    ["theory", "--model-size", "2.7B", "--profile-type", "forward"],
    ["theory", "--model-size", "405b", "--precision", "bf16", "--attention", "sdpa", *FEW_LAYERS],
    ["rlhf", "--model-size", "small"],
    ["rlhf", "--model-size", "small", "--num-gpus", "8", "--gpu-memory", "1GiB"],
    ["rlhf", "--model-size", "405b", "--num-gpus", "8", *FEW_LAYERS],
    ["rlhf", "--model-size", "2.7B", "--num-gpus", "16", "--swap-phases", "--optimizer-offload", "--zero", "3",
     *FEW_LAYERS],
    ["rlhf", "--formula", "closed-form"],
    ["budget"],
    ["budget", "--model-size", "70b", "--card", "h100-80gb", "--tp", "2"],
    ["cards"],
    ["cards", "h200", "v100"],
    ["profile", *STUB_RUNS, "--profile-type", "training"],
    ["profile", *STUB_RUNS, "--context-length", "1024"],
    ["profile", *TECHNIQUES],
    ["theory", *TECHNIQUES],
    ["theory", "--model-size", "small", "--param-dtype", "bf16", "--rounding", "stochastic",
     "--release-gradients", "--optimizer", "adam-mini"],
    ["sweep", *TECHNIQUES, "--context-length", "128,1024", "--release-gradients=false",
     "--optimizer", "lion,adam8bit"],
    ["rlhf", "--model-size", "2.7B", "--recompute", "blocks:50%", "--optimizer", "adam8bit", *FEW_LAYERS],
    ["profile", *STUB_RUNS, "--snapshot", "深層学習のメモリを測った結果を入れておくとても長い名前の" * 2 + ".pickle"],
    ["sweep", *STUB_RUNS, "--context-length", "128,256,1024", "--precision", "fp32,bf16",
     "--attention", "eager,sdpa", "--batch-size", "1,4"],
    ["snapshot", "top", "sample.pickle", "--limit", "0"],
    ["snapshot", "diff", "sample.pickle", "sample.pickle"],
    ["snapshot", "validate", "sample.pickle"],
    ["table", "computed", str(ROOT / "results/plan/records.jsonl")],
    ["table", "residuals", str(ROOT / "results/cpu/residuals.jsonl")],
    *(["table", kind, str(ROOT / "results" / name)]
      for kind in ("peak-memory", "mixed-precision", "summary")
      for name in ("cpu/small_2026-11-22.jsonl", "virtual/h200_2026-11-22.jsonl",
                   "virtual/published.jsonl")),
    ["profile", "--model-size", "smal"],
    ["rlhf", "--model-size", "405b", "--reference", "resident"],
    ["dryrun", "--card", "h200", "--", "true"],
    ["fit", "--card", "rtx4090", "--model-size", "small", "--layers", "2", "--batch-size", "4",
     "--context-length", "128", "--allow", "checkpoint,attention"],
    ["fit", "--card", "h200", "--vary", "n=1..3", "--", "true", "{n}"],
]


def columns(line):
    """That a terminal takes for it."""
    width = 0
    for character in ESCAPE.sub("", line):
        if unicodedata.combining(character):
            continue
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def environment(**more):
    return {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", "HEADROOM_CELL": STUB_CELL, **more}


def on_a_terminal(words, width, folder, **more):
    """The program's lines on a terminal so wide; lines that are redrawn count each time."""
    text = terminal.shown([HEADROOM, *words], environment(**more), columns=width, folder=folder)
    return re.split(r"[\r\n]+", text)


def into_a_file(words, folder, **more):
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        subprocess.run([HEADROOM, *words], stdout=file, stderr=subprocess.STDOUT, check=False,
                       cwd=folder, env=environment(**more))
        file.seek(0)
        return file.read()


def into_a_pipe(words, folder, **more):
    return subprocess.run([HEADROOM, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False, cwd=folder, env=environment(**more)).stdout


# Longer ones (paths) may be broken where the page ends; drawn bars go where there is no room.
def words_of(text):
    rules = re.compile(r"-{3,}|[\u2500-\u25ff]+|\d+\.\d+|\d+")
    return {word for word in ESCAPE.sub("", text).split()
            if len(word) <= 20 and word != "." and not rules.fullmatch(word) and columns(word) == len(word)}


class Width(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        subprocess.run([MAKE_SNAPSHOT, "5000", "sample.pickle"], cwd=self.folder.name, check=True,
                       capture_output=True)

    def check(self, place, words, **more):
        """At the least width, and of the wider ones at one each for every other page; at night at all."""
        plain = into_a_file(words, self.folder.name)
        widths = WIDTHS if IS_NIGHT else WIDTHS[:1]
        if not IS_NIGHT and place % 2:
            widths += (WIDTHS[1 + place // 2 % 2],)
        for width in widths:
            with self.subTest(words=" ".join(words), width=width):
                lines = on_a_terminal(words, width, self.folder.name, **more)
                over = [line for line in lines if columns(line) > width]
                self.assertEqual(over, [], f"{len(over)} lines are wider than {width}")
                lost = words_of(plain) - words_of("\n".join(lines))
                self.assertEqual(lost, set(), "words of the whole page that are cut or not there")

    def test_help_fits(self):
        for place, words in enumerate(HELP):
            self.check(place, words)

    def test_tables_and_messages_fit(self):
        for place, words in enumerate(TABLES):
            self.check(place, words)

    def test_what_is_folded_says_how_to_get_whole_rows(self):
        shown = " ".join(on_a_terminal(["cards"], 80, self.folder.name))
        self.assertIn("Folded to 80 columns", shown)
        self.assertIn("--format csv", shown)
        self.assertNotIn("Folded", " ".join(on_a_terminal(["cards"], 200, self.folder.name)))

    def test_columns_comes_before_what_the_terminal_says(self):
        lines = on_a_terminal(["cards"], 200, self.folder.name, COLUMNS="80")
        self.assertLessEqual(max(map(columns, lines)), 80)

    def test_a_file_is_as_wide_as_needed_whatever_columns_says(self):
        written = into_a_file(["cards"], self.folder.name, COLUMNS="80")
        self.assertGreater(max(map(columns, written.splitlines())), 160)

    def test_a_pipe_is_160_columns_wide_whatever_columns_says(self):
        for words in (["cards"], ["budget"], ["sweep", *TECHNIQUES, "--context-length", "128,1024"],
                      ["snapshot", "top", "sample.pickle"]):
            with self.subTest(words=" ".join(words)):
                lines = into_a_pipe(words, self.folder.name, COLUMNS="80").splitlines()
                over = [line for line in lines if columns(line) > 160]
                self.assertEqual(over, [], f"{len(over)} lines are wider than 160")
        piped = into_a_pipe(["cards"], self.folder.name)
        self.assertGreater(max(map(columns, piped.splitlines())), 120)

    def test_every_cell_of_a_folded_table_is_there(self):
        lines = on_a_terminal(["cards"], 80, self.folder.name)
        for number in ("4800", "989.4", "1978.9", "139.80"):
            self.assertTrue(any(number in line.split() for line in lines), number)


if __name__ == "__main__":
    HEADROOM, STUB_CELL, MAKE_SNAPSHOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
    unittest.main()
