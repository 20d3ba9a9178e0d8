#!/usr/bin/env python3
"""Ranks at rest beside what others published: every row is exact, our figures are what is allocated
now, and each row can fail. By day every third of the runs is run anew.

usage: mesh_figures_test.py HEADROOM, from the top of the tree
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from at_night import share_by_day  # noqa: E402

HEADROOM = sys.argv[1]
TABLE = [sys.executable, "-S", "studies/published/mesh_figures_table.py"]
PUBLISHED = Path("results/published/mesh_figures.json")
RECORDS = Path("results/parallel/public_figures.jsonl")
TABLE_FILE = Path("results/parallel/public_figures.md")
FIRST = '"parameters": 672759808'  # of the first rank, in bytes
ONE_MORE = '"parameters": 672759810'
PROGRAM = """import string, sys, torch
kept = [torch.empty(1 << 20, device="cuda") for _ in range(int(sys.argv[1]))]
one = torch.empty(1, device="cuda")
gone = torch.empty(1 << 22, device="cuda")
del gone
string.Template("").substitute()
"""
ADVICE = "run studies/published/compare_mesh_figures.sh and scripts/upkeep/update_docs.sh"


def table(*words):
    return subprocess.run([*TABLE, *map(str, words)], capture_output=True, text=True, check=False)


def one_digit_more(published):
    number = Decimal(published)
    return str(number + Decimal(1).scaleb(number.as_tuple().exponent))


class MeshFigures(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def shown(self, data, records=RECORDS):
        changed = self.folder / "published.json"
        changed.write_text(json.dumps(data))
        return table("show", changed, records)

    def test_every_row_is_exact_and_the_table_is_that_of_its_records(self):
        done = table("show", PUBLISHED, RECORDS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.rstrip(), TABLE_FILE.read_text().rstrip(), ADVICE)

    def test_what_is_allocated_now_is_what_the_records_say(self):
        lines = share_by_day(RECORDS.read_text().splitlines(keepends=True), 3)
        done = table("run", PUBLISHED, HEADROOM, *(json.loads(line)["run"] for line in lines))
        self.assertEqual((done.returncode, done.stdout), (0, "".join(lines)), ADVICE + done.stderr)

    def test_theory_has_the_parameters_of_every_rank(self):
        done = table("theory", PUBLISHED, HEADROOM, RECORDS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_theory_that_differs_is_named(self):
        line = RECORDS.read_text().splitlines()[0]
        other = self.folder / "records.jsonl"
        other.write_text(line.replace(FIRST, ONE_MORE))
        done = table("theory", PUBLISHED, HEADROOM, other)
        self.assertEqual(done.returncode, 1)
        self.assertIn("deepspeed-1.3b, rank 0: theory has 672,759,808 B", done.stderr)

    def test_a_published_figure_that_is_one_digit_off_is_an_error_and_named(self):
        for place, figure in enumerate(json.loads(PUBLISHED.read_text())["figures"]):
            data = json.loads(PUBLISHED.read_text())
            data["figures"][place]["published"] = one_digit_more(figure["published"])
            done = self.shown(data)
            self.assertEqual(done.returncode, 1, figure["what"])
            self.assertIn(figure["what"], done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_parameters_of_ours_that_change_by_one_are_an_error(self):
        data = json.loads(PUBLISHED.read_text())
        other = self.folder / "records.jsonl"
        other.write_text(RECORDS.read_text().replace(FIRST, ONE_MORE))
        done = self.shown(data, other)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ours 336,379,905, besides nothing, left -1", done.stderr)

    def test_a_row_of_a_run_that_is_not_there_is_one_line(self):
        data = json.loads(PUBLISHED.read_text())
        data["figures"][0]["run"] = "nothing"
        done = self.shown(data)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (5, 1))

    def test_every_run_source_and_letter_is_used(self):
        data = json.loads(PUBLISHED.read_text())
        figures = data["figures"]
        self.assertEqual({figure["run"] for figure in figures}, set(data["runs"]))
        self.assertEqual({figure["source"] for figure in figures}, set(data["sources"]))
        letters = {letter for figure in figures for letter in figure.get("beside", {})}
        self.assertEqual(letters, set(data["beside"]))

    @unittest.skipUnless(importlib.util.find_spec("torch"), "the program needs torch")
    def test_live_blocks_are_those_of_the_moment(self):
        program = self.folder / "program.py"
        program.write_text(PROGRAM)
        watch = ["studies/published/live_blocks.py", "string:Template.substitute", str(program), "3"]
        done = subprocess.run(
            [HEADROOM, "dryrun", "--card", "h100-80gb", "--", sys.executable, *watch],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        (line,) = [json.loads(line) for line in done.stdout.splitlines() if '"blocks"' in line]
        self.assertEqual(line["blocks"], [[4194304, 4194304, 3], [512, 4, 1]])
        self.assertEqual(line["requested_bytes"], 3 * 4194304 + 4)

    def test_bad_usage_runs_nothing(self):
        self.assertEqual(table("frobnicate").returncode, 2)
        live = subprocess.run(
            [sys.executable, "studies/published/live_blocks.py", "x"], capture_output=True
        )
        self.assertEqual((live.returncode, live.stdout), (2, b""))
        script = "studies/published/compare_mesh_figures.sh"
        for words in (["--frobnicate"], [str(self.folder / "missing.json")]):
            done = subprocess.run([script, *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
