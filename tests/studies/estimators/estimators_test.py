"""The comparison of estimators: its tables, and what a tool that fails costs. No torch, no tool."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ESTIMATORS = ROOT / "studies/estimators"
sys.path.insert(0, str(ESTIMATORS))

import peer_modules  # noqa: E402, F401
from activation_formula import layer_bytes  # noqa: E402
from ask import Programs, ask  # noqa: E402
from compare_estimators import compare, exit_code  # noqa: E402
from row_table import table  # noqa: E402
from rows import CELLS, Row  # noqa: E402
from tools import ALL_TOOLS, Tool  # noqa: E402

CELL = CELLS["ctx512_training_fp32"]
GIB = 2**30
MACHINE = {"processor": "A Processor", "cores": 2}


def stand_in(name: str, code: str, **more) -> Tool:
    """A tool that runs this Python code, which has no spaces."""
    return Tool(name, f"{{python}} -c {code}", **more)


GOOD = stand_in("good", 'print(\'{{"peak_bytes":68719476736,"note":"guessed"}}\')')
FAILING = (
    (stand_in("failing", "raise(SystemExit('no/memory'))"), "failed", "exit code 1: no/memory"),
    (stand_in("raising", "1/0"), "failed", "exit code 1: ZeroDivisionError: division by zero"),
    (stand_in("killed", "__import__('os').abort()"), "killed", "by signal 6: no message"),
    (stand_in("silent", "0"), "failed", "no bytes in its answer: no message"),
    (stand_in("babbling", "print('about','65','GiB')"), "failed", None),
    (stand_in("untruthful", "print('{{\"peak_bytes\":-1}}')"), "failed", None),
    (stand_in("strange", "print('{{\"processes\":[1]}}')"), "failed", None),
    (stand_in("honest", 'print(\'{{"status":"oom","reason":"full"}}\')'), "failed", "full"),
    (stand_in("old", "exit(2)", missing_codes=(2,)), "missing", "no message"),
    (Tool("absent", "{headroom} profile"), "missing", None),
    (stand_in("elsewhere", "0", modes=("forward-grad",), why_not="no"), "not covered", "no"),
)


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.programs = Programs(sys.executable, sys.executable, str(self.folder / "headroom"))

    def ask(self, tool: Tool, limit_s: float = 60) -> Row:
        return ask(tool, CELL, self.programs, limit_s)


class FailingTools(Scratch):
    def test_each_costs_its_own_row_and_says_why(self):
        tools = [GOOD, *(tool for tool, _, _ in FAILING), GOOD]
        out = self.folder / "rows.jsonl"
        rows = compare(tools, [CELL], self.programs, 60, out)
        self.assertEqual([rows[0].status, rows[-1].status], ["ok", "ok"])
        self.assertEqual(rows[0].peak_bytes, 64 * GIB)
        for row, (tool, status, reason) in zip(rows[1:-1], FAILING, strict=True):
            with self.subTest(tool=tool.name):
                self.assertEqual((row.tool, row.status, row.peak_bytes), (tool.name, status, None))
                self.assertTrue(row.reason)
                self.assertIn(reason, (row.reason, None))
        again = [Row.from_json(text) for text in out.read_text().splitlines()]
        self.assertEqual(again, rows)
        self.assertEqual(exit_code(rows), 3)
        self.assertEqual(exit_code([rows[0], rows[-2]]), 0)
        self.assertEqual(exit_code(rows[1:3]), 4)
        self.assertNotIn(str(self.folder), table(rows) + out.read_text())
        self.assertNotIn(str(ROOT), table(rows) + out.read_text())

    def test_a_hanging_tool_is_killed_with_what_it_started(self):
        code = "__import__('subprocess').run(['sleep','600'])"
        row = self.ask(stand_in("hanging", code), limit_s=0.3)
        self.assertEqual(row.status, "timeout")
        self.assertLess(row.seconds, 60)

    def test_host_memory_is_of_the_row_s_own_process(self):
        large = self.ask(stand_in("large", "print({{'a':len(b'1'*200000000)}})"))
        small = self.ask(GOOD)
        self.assertGreater(large.host_peak_rss_bytes, 200e6)
        self.assertLess(small.host_peak_rss_bytes, 100e6)

    def test_a_figure_may_stand_in_a_file_of_the_tool_s_own(self):
        code = "open('{result}','w').write('{{\"peak_allocated_bytes\":1073741824}}')"
        self.assertEqual(self.ask(stand_in("filing", code)).peak_bytes, GIB)

    def test_the_document_of_a_dry_run_is_an_answer(self):
        allocator = "{{'allocator':{{'peak_allocated_bytes':7}},'peak_bytes':9}}"
        document = f"{{{{'processes':[{{{{'torch':'2','devices':[{allocator}]}}}}]}}}}"
        code = f"__import__('json').dump({document},open('{{result}}','w'),indent=2)"
        row = self.ask(stand_in("dry", code))
        self.assertEqual((row.peak_bytes, row.versions), (7, {"torch": "2"}), row.reason)

    def test_a_record_of_headroom_is_an_answer(self):
        program = self.folder / "headroom"
        environment = '{"build": "abc", "libtorch": "2.11.0"}'
        record = f'{{"status": "ok", "peak_allocated_bytes": 5, "environment": {environment}}}'
        program.write_text(f"#!/bin/sh\necho '{record}'\n")
        program.chmod(0o755)
        row = self.ask(next(tool for tool in ALL_TOOLS if tool.name == "headroom-profile"))
        self.assertEqual((row.status, row.peak_bytes), ("ok", 5), row.reason)
        self.assertEqual(row.versions, {"headroom": "abc", "libtorch": "2.11.0"})


def example_rows() -> list[Row]:
    fixed = {"machine": MACHINE, "time_utc": "2026-01-02T03:04:05Z"}
    guess = {"note": "a guess", "versions": {"torch": "2.11.0"}, **fixed}
    other = CELLS["ctx128_training_fp32"]
    return [
        Row("guess", CELL, "ok", "", 64 * GIB, seconds=2.04, host_peak_rss_bytes=GIB, **guess),
        Row("guess", other, "ok", "", 54 * GIB, seconds=1.0, host_peak_rss_bytes=GIB // 2, **guess),
        Row("late", CELL, "timeout", "a|b", seconds=9.0, host_peak_rss_bytes=GIB, **fixed),
    ]


EXPECTED = """\
processor A Processor, cores 2; torch 2.11.0; 2026-01-02.

| tool | cells answered | lowest error | highest error | seconds, median | host peak RSS, GiB |
| --- | --- | --- | --- | --- | --- |
| guess | 2 of 2 | -2.35 % | +5.03 % | 1.5 | 1.00 |
| late | 0 of 1 | - | - | - | - |

| tool | cell | GiB | published GiB | error | seconds | host peak RSS, GiB | status |
| --- | --- | --- | --- | --- | --- | --- | --- |
| guess | ctx128_training_fp32 | 54.000 | 51.416 | +5.03 % | 1.0 | 0.50 | ok |
| guess | ctx512_training_fp32 | 64.000 | 65.538 | -2.35 % | 2.0 | 1.00 | ok |
| late | ctx512_training_fp32 | - | 65.538 | - | 9.0 | 1.00 | timeout: a/b |

- guess: a guess"""


class Table(unittest.TestCase):
    def test_is_printed_whole_from_the_rows(self):
        _, _, rest = table(example_rows()).partition("\n\n")
        self.assertEqual(rest, EXPECTED)

    def test_of_rows_that_were_written_and_read_is_the_same(self):
        again = [Row.from_json(row.to_json()) for row in example_rows()]
        self.assertEqual(table(again), table(example_rows()))


class CommandLine(Scratch):
    def run_script(self, *flags: str) -> subprocess.CompletedProcess:
        command = [sys.executable, str(ESTIMATORS / "compare_estimators.py"), *flags]
        return subprocess.run(command, capture_output=True, text=True)

    def test_a_bad_flag_is_refused_in_one_line(self):
        for flags in (
            ["--cells", "ctx129_training_fp32"],
            ["--cells", ""],
            ["--tools", "memtracker"],
            ["--tools", "accelerate,,closed-formula"],
            ["--deadline", "0"],
            ["--deadline", "nan"],
            ["--report", str(self.folder / "absent.jsonl")],
            ["--tool", "accelerate"],
            ["extra"],
        ):
            with self.subTest(flags=flags):
                done = self.run_script("--output", str(self.folder / "out"), *flags)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_would_run_is_listed_and_not_run(self):
        done = self.run_script("--list", "--tools", "accelerate", "--cells", str(CELL))
        self.assertEqual((done.returncode, done.stdout), (0, f"accelerate {CELL}\n"))

    def test_results_are_added_and_the_tables_print_again(self):
        flags = ["--tools", "headroom-profile", "--cells", str(CELL), "--output", str(self.folder)]
        flags += ["--headroom", "/nonexistent/headroom"]
        for _ in range(2):
            done = self.run_script(*flags)
            self.assertEqual(done.returncode, 4, done.stderr)
        paths = sorted(self.folder.glob("*.jsonl"))
        self.assertEqual(len(paths), 2)
        self.assertEqual(json.loads(paths[0].read_text())["status"], "missing")
        self.assertEqual(paths[1].with_suffix(".md").read_text(), done.stdout)
        self.assertEqual(self.run_script("--report", str(paths[1])).stdout, done.stdout)

    def test_a_folder_that_cannot_be_written_is_said_before_anything_runs(self):
        done = self.run_script("--output", "/proc/nowhere")
        self.assertEqual((done.returncode, done.stdout), (5, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1)


class Workload(unittest.TestCase):
    def test_the_program_that_measures_does_not_load_torch(self):
        self.assertNotIn("torch", sys.modules)

    def test_every_tool_is_asked_about_the_cell_itself(self):
        programs = {name: name for name in ("python", "venv", "headroom", "result")}
        for tool in ALL_TOOLS:
            text = " ".join(tool.words(programs, CELL.flags()))
            self.assertIn("--context-length 512 --profile-type training --precision fp32", text)

    def test_the_formula_is_the_paper_s_at_two_bytes(self):
        s, b, h, a = 2048, 2, 2560, 32
        self.assertEqual(layer_bytes(s, b, h, a, 2), s * b * h * 34 + 5 * a * s * s * b)
        self.assertEqual(layer_bytes(s, b, h, a, 4), s * b * h * 66 + 9 * a * s * s * b)


if __name__ == "__main__":
    unittest.main()
