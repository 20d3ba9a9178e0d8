"""The comparison of sharded training: what a row is held to, and its tables. No torch here, no tool."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "studies/estimators/sharded"))

import estimator_modules  # noqa: E402, F401
from ask import Programs  # noqa: E402
from compare_sharded import compare  # noqa: E402
from sharded_rows import CELLS, TRUTH, Row  # noqa: E402
from sharded_table import table  # noqa: E402
from sharded_tools import ALL_TOOLS  # noqa: E402
from tools import Tool  # noqa: E402

GIB = 2**30
CELL = CELLS["fsdp2_8B_8ranks"]


def stand_in(name: str, gib: int, **more) -> Tool:
    code = f'print(\'{{{{"peak_bytes":{gib * GIB},"note":"a/{gib}"}}}}\')'
    return Tool(name, f"{{python}} -c {code}", ("fsdp2",), **more)


class Comparison(unittest.TestCase):
    def rows(self, *tools: Tool) -> list[Row]:
        with tempfile.TemporaryDirectory() as folder:
            programs = Programs(sys.executable, sys.executable, "none")
            out = Path(folder, "rows.jsonl")
            rows = compare(list(tools), [CELL], programs, 60, out)
            again = [Row.from_json(text) for text in out.read_text().splitlines()]
        self.assertEqual(again, rows)
        return rows

    def test_holds_a_tool_to_the_program_however_they_are_ordered(self):
        rows = self.rows(stand_in("guess", 30), stand_in(TRUTH, 40))
        self.assertEqual([row.tool for row in rows], [TRUTH, "guess"])
        self.assertIsNone(rows[0].error)
        self.assertEqual(rows[1].error, -0.25)

    def test_without_the_program_s_own_figure_says_no_error(self):
        failed = Tool(TRUTH, "{python} -c 1/0", ("fsdp2",))
        rows = self.rows(stand_in("guess", 30), failed)
        self.assertEqual([row.error for row in rows], [None, None])
        self.assertEqual(rows[1].peak_bytes, 30 * GIB)

    def test_says_once_per_tool_why_there_is_no_figure(self):
        elsewhere = stand_in("elsewhere", 1)
        other = Tool("other", elsewhere.command, ("zero2",), "a|b")
        text = table(self.rows(stand_in(TRUTH, 40), other))
        self.assertIn("- other, 1 cell not covered: a/b", text)
        self.assertIn("| fsdp2_8B_8ranks | headroom-dryrun | 40.000 | - |", text)
        self.assertNotIn("| other |", text)


class Commands(unittest.TestCase):
    def test_of_every_tool_name_the_ranks_and_a_program_that_is_there(self):
        for tool in ALL_TOOLS:
            for cell in (cell for cell in CELLS.values() if cell.mode in tool.modes):
                values = {name: name for name in ("python", "venv", "headroom", "result")}
                words = tool.words(values | cell.values(), cell.flags())
                with self.subTest(tool=tool.name, cell=str(cell)):
                    self.assertIn(str(cell.ranks), words)
                    program = next(word for word in words if word.endswith(".py"))
                    self.assertTrue((ROOT / program).is_file(), program)


if __name__ == "__main__":
    unittest.main()
