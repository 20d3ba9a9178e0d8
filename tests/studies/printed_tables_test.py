#!/usr/bin/env python3
"""Tables of others beside ours: a cell is equal in every digit, or its distance stands there.

usage: printed_tables_test.py, from the top of the tree
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TABLES = Path("studies/printed_tables/tables.py").resolve()
THEIRS = """
|   width |   ms |     peak_MiB | mode      |
|--------:|-----:|-------------:|:----------|
|      16 |  3.5 |      16.7505 | eager     |
|      16 |  3.5 |      15.5    | compiled  |
|      32 |  9.5 |    4125      | **eager** |
"""
TABLE = {"what": "eager", "file": "table.md", "keys": ["width"], "columns": ["peak_MiB"], "where": {"mode": "eager"}}


class PrintedTables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def tables(self, *words: object) -> str:
        command = [sys.executable, "-IS", str(TABLES), *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def write(self, name: str, text: str) -> Path:
        (self.folder / name).write_text(text)
        return self.folder / name

    def publish(self, table: dict) -> Path:
        """A repository with one table, and what is published of it."""
        git = ["git", "-C", str(self.folder), "-c", "user.name=a", "-c", "user.email=a@b"]
        self.write("table.md", THEIRS)
        for words in (["init", "-q"], ["add", "table.md"], ["commit", "-qm", "One", "--allow-empty"]):
            subprocess.run([*git, *words], check=True)
        shown = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        program = {"name": "one", "commit": shown.stdout.strip(), "torch": "2.6.0", "card": "t4", "paths": ["."],
                   "source": "somewhere", "words": ["-m", "one"], "tables": [table]}  # fmt: skip
        published = self.write("p.json", json.dumps({"source": "S", "causes": ["a cause"], "programs": [program]}))
        self.tables("publish", published, self.folder)
        return published

    def compared(self, published: Path, printed: dict) -> str:
        rows = [self.tables("read", published, "one", torch, self.write("out", text)) for torch, text in printed.items()]
        return self.tables("table", published, self.write("rows", "".join(rows)))

    def test_the_rows_that_a_table_is_about_are_published_and_cells_are_compared_in_every_digit(self):
        published = self.publish({**TABLE, "cause": 1})
        self.assertEqual(json.loads(published.read_text())["programs"][0]["tables"][0]["rows"],
                         [["16", "16.7505"], ["32", "4125"]])  # fmt: skip
        newer = THEIRS.replace("4125 ", "4125.4 ").replace("16.7505", "16.7506")
        text = self.compared(published, {"2.6.0": THEIRS, "2.11.0": newer})
        self.assertIn("| one [1] | eager | t4 | 2.6.0 | 2 of 2 |  | 0 of 2 | +0.4 |", text)
        self.assertIn("\n(1) a cause\n\n[1] somewhere\n\nS\n", text)
        text = self.compared(published, {"2.6.0": newer.replace("|      16 |  3.5 |      16", "|      17 |  3.5 |      16")})
        self.assertIn("| 0 of 2 | +0.4, 1 not printed (1) | - | - |", text)
        self.assertIn("0 of 2 cells are equal in every digit under the torch of their publishers; in 2.11.0 0 of 0.", text)

    def test_what_is_printed_with_more_digits_is_rounded_as_the_table_is(self):
        table = {"what": "all", "keys": ["width"], "columns": ["MiB"], "pattern": r"width (\d+): ([0-9.]+)MB",
                 "rows": [["16", "132.594"], ["32", "1118.38"]]}  # fmt: skip
        text = self.compared(self.publish(table), {"2.6.0": "width 16: 132.5938MB\nwidth 32: 1118.3750MB\n"})
        self.assertIn("| 2 of 2 |  |", text)
        text = self.compared(self.publish({**table, "digits": 1, "rows": [["16", "132.6"]]}), {"2.6.0": "width 16: 132.6500MB"})
        self.assertIn("| 1 of 1 |  |", text)

    def test_the_programs_of_a_checkout_are_those_whose_commit_it_has(self):
        published = self.publish(TABLE)
        fields = self.tables("programs", published, self.folder).rstrip("\n").split("\t")
        self.assertEqual(fields[0], "one")
        self.assertEqual(fields[2:], ["2.6.0", "none", ".", ".", "-", "--card t4", "-m one"])
        known = json.loads(published.read_text())
        known["programs"][0]["commit"] = "0" * 40
        self.assertEqual(self.tables("programs", self.write("other.json", json.dumps(known)), self.folder), "")


if __name__ == "__main__":
    unittest.main()
