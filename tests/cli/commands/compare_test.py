#!/usr/bin/env python3
"""`headroom compare` on real Records and snapshots of virtual cards, and `profile --max-peak`.

usage: compare_test.py HEADROOM [unittest arguments]

The Records are of one small step; a Python program runs with and without 512 B more.
Commands in turn print Records from files, so no verdict depends on this machine's times.
"""

from __future__ import annotations

import importlib.util
import json
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM = ""
SMALL = [
    "--model-size",
    "custom",
    "--d-model",
    "64",
    "--d-ff",
    "128",
    "--layers",
    "2",
    "--heads",
    "2",
    "--vocab-size",
    "100",
    "--context-length",
    "32",
    "--profile-type",
    "training",
    "--device",
    "virtual:h200",
]
IN_TURN = Path(__file__).resolve().parents[2] / "virtual_gpu/programs/processes/in_turn.py"
PROGRAM = """\
import sys
import torch


def layer(x, weight):
    return torch.relu(x @ weight)


def step(planted):
    weight = torch.ones(256, 256, device="cuda", requires_grad=True)
    x = torch.ones(64, 256, device="cuda")
    kept = []
    for i in range(20):
        x = layer(x, weight)
        if planted and i == 11:
            kept.append(torch.empty(128, device="cuda"))
    x.sum().backward()


torch.cuda.memory._record_memory_history()
step(sys.argv[1] == "planted")
torch.cuda.memory._dump_snapshot(sys.argv[2])
"""
PLANTED_LINE = (
    PROGRAM.splitlines().index('            kept.append(torch.empty(128, device="cuda"))') + 1
)


def run(folder, *words):
    return subprocess.run(
        [HEADROOM, *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


class OfFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="headroom-compare-")
        cls.folder = Path(cls.scratch.name)
        for name, flags in (("a", []), ("b", []), ("c", ["--precision", "bf16"])):
            done = run(
                cls.folder,
                "profile",
                *SMALL,
                *flags,
                "--snapshot",
                f"{name}.pickle",
                "--format",
                "json",
            )
            assert done.returncode == 0, done.stderr
            (cls.folder / f"{name}.jsonl").write_text(done.stdout)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def tables(self, *words, code=0):
        done = run(self.folder, "compare", *words, "--format", "json")
        self.assertEqual(done.returncode, code, done.stderr)
        tables = json.loads(done.stdout)
        return tables if isinstance(tables, list) else [tables]

    def record(self, name, **changed):
        record = json.loads((self.folder / "a.jsonl").read_text())
        record["spec"]["snapshot"] = ""
        record["environment"].update(changed.pop("environment", {}))
        record.update(changed)
        path = self.folder / name
        path.write_text(json.dumps(record) + "\n")
        return path

    def test_two_runs_of_one_cell_are_equal(self):
        done = run(self.folder, "compare", "a.jsonl", "b.jsonl", "--fail-on", "memory")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("memory is equal in 1 of 1 cells", done.stdout)
        self.assertNotIn("differ", done.stdout)

    def test_records_come_from_pipes_too(self):
        command = f"{HEADROOM} compare <(cat a.jsonl) <(cat b.jsonl)"
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=600
        )
        self.assertIn("memory is equal in 1 of 1 cells", done.stdout, done.stderr)

    def test_two_snapshots_of_one_cell_are_equal(self):
        done = run(self.folder, "compare", "a.pickle", "b.pickle", "--fail-on", "memory")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The snapshots are equal", done.stdout)

    def test_a_difference_is_told_by_part_tensor_and_line(self):
        text = run(self.folder, "compare", "c.jsonl", "a.jsonl").stdout
        self.assertIn("precision bf16 -> fp32", text)
        for part in ("peak", "phase", "category at the peak", "theory", "tensor of theory"):
            self.assertRegex(text, rf"(?m)^{part}  ")
        self.assertRegex(text, r"(?m)^\S+\.cpp:\d+ .*(only in B|grown)")

    def test_the_gate_names_the_cell_and_the_code(self):
        done = run(self.folder, "compare", "c.jsonl", "a.jsonl", "--fail-on", "memory")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(
            done.stderr,
            r"--fail-on: custom_ctx32_training_\S+ .*allocated peak grew by \+.*; "
            r"the most at .*\.cpp:\d+",
        )
        self.assertEqual(
            run(self.folder, "compare", "a.jsonl", "c.jsonl", "--fail-on", "memory").returncode, 0
        )
        self.assertEqual(run(self.folder, "compare", "c.jsonl", "a.jsonl").returncode, 0)

    def test_other_environments_come_before_any_figure_and_forbid_times(self):
        slow = self.record("slow.jsonl", step_ms=[2.0], environment={"libtorch": "2.10.0"})
        fast = self.record("fast.jsonl", step_ms=[1.0])
        text = run(self.folder, "compare", slow, fast).stdout
        self.assertLess(text.index("2.10.0"), text.index("A beside B"))
        self.assertNotIn("ms", text.split("A beside B")[1].split("\n")[1].split())
        self.assertIn("UNDECIDED", run(self.folder, "compare", slow, fast, "--anyway").stdout)

    def test_the_cards_clock_and_its_other_users_are_named(self):
        def nvml(mhz):  # as CardWatch writes it
            return {"nvml": {"sm_clock_mhz": {"lowest": mhz, "highest": mhz}}}

        notes = [
            "the card's clock was lowered between timed steps: power cap",
            "other processes used the card while steps were timed: pid 4711 (2.000 GiB)",
        ]
        self.record("quick.jsonl", step_ms=[100.0], environment=nvml(1980))
        self.record("slow.jsonl", step_ms=[110.0], environment=nvml(1980))
        self.record("lowered.jsonl", step_ms=[110.0], environment=nvml(1800), notes=notes)
        words = ["compare", "--rounds", "5", "--run", "cat quick.jsonl", "--run"]
        self.assertRegex(run(self.folder, *words, "cat slow.jsonl").stdout, r"(?s)\+10\.0 %.* SLOWER")
        text = " ".join(run(self.folder, *words, "cat lowered.jsonl").stdout.split())
        self.assertRegex(text, r"\+10\.0 %.* UNDECIDED")
        self.assertIn("in clock cycles it is +0.0 %, SAME: the card's clock differed", text)
        for note in notes:
            self.assertIn(note, text)

    def test_bad_input_is_one_line(self):
        (self.folder / "torn.pickle").write_bytes((self.folder / "a.pickle").read_bytes()[:999])
        (self.folder / "text.txt").write_text("hello\n")
        for words, code, says in (
            (["a.jsonl"], 2, "two files"),
            (["a.jsonl", "a.pickle"], 2, "is a snapshot"),
            (["a.jsonl", "missing.jsonl"], 2, "cannot read missing.jsonl"),
            (["a.pickle", "missing.pickle"], 3, "cannot read missing.pickle"),
            (["a.jsonl", "text.txt"], 2, "text.txt"),
            (["a.pickle", "torn.pickle"], 3, "torn.pickle"),
            (["a.jsonl", "b.jsonl", "--rounds", "3"], 2, "--rounds"),
            (["a.jsonl", "b.jsonl", "--run", "x"], 2, "instead of files"),
            (["--run", "x"], 2, "needed twice"),
            (["a.jsonl", "b.jsonl", "--across", "precison"], 2, "did you mean precision"),
            (["a.jsonl", "b.jsonl", "--fail-on", "speed"], 2, "allowed: memory"),
            (["a.jsonl", "b.jsonl", "--output", "a.jsonl"], 2, "a.jsonl"),
            (["a.jsonl", "b.jsonl", "--output", "no/folder"], 5, "no/folder"),
        ):
            done = run(self.folder, "compare", *words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), words)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(says, done.stderr)

    def test_commands_run_in_turn_in_a_changing_order(self):
        for name, ms in (("a", 10.0), ("b", 20.0)):
            self.record(f"{name}_times.jsonl", step_ms=[ms, ms, ms])
        commands = [f"printf {name} >>order; cat {name}_times.jsonl" for name in "ab"]
        done = run(
            self.folder,
            "compare",
            "--run",
            commands[0],
            "--run",
            commands[1],
            "--rounds",
            "6",
            "--fail-on",
            "time=5%",
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("SLOWER", done.stdout)
        self.assertIn("+100.0 %", done.stderr.splitlines()[-1])
        order = (self.folder / "order").read_text()
        rounds = [order[at : at + 3] for at in range(0, 18, 3)]
        self.assertEqual(sorted(rounds), ["aab", "aab", "aba", "aba", "baa", "baa"])

    def test_a_command_without_a_result_ends_it(self):
        for command, says in (
            ("exit 7", "exit code 7"),
            ("echo hello", "add --format json"),
            ("kill -9 $$", "SIGKILL"),
            ("nosuchprogram", "not found"),
        ):
            done = run(self.folder, "compare", "--run", command, "--run", "cat a.jsonl")
            self.assertEqual((done.returncode, done.stdout), (4, ""), command)
            self.assertIn(says, done.stderr.splitlines()[-1])

    def test_max_peak_is_exact_and_names_the_line(self):
        record = json.loads((self.folder / "a.jsonl").read_text())
        peak = record["peak_allocated_bytes"]
        within = run(self.folder, "profile", *SMALL, "--max-peak", peak, "--format", "json")
        self.assertEqual(within.returncode, 0, within.stderr)
        self.assertEqual(json.loads(within.stdout)["spec"]["snapshot"], "")
        beyond = run(self.folder, "profile", *SMALL, "--max-peak", peak - 1)
        self.assertEqual(beyond.returncode, 1)
        self.assertRegex(
            beyond.stderr, r"1 B more than .*; the most of the recorded step at \S+\.cpp:\d+ "
        )


@unittest.skipUnless(importlib.util.find_spec("torch"), "needs torch")
class OfAPythonProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="headroom-compare-")
        cls.folder = Path(cls.scratch.name)
        (cls.folder / "train.py").write_text(PROGRAM)
        texts = (f"train.py,{name},{name}.pickle" for name in ("plain", "planted"))
        done = run(cls.folder, "dryrun", "--card", "h200", "--", sys.executable, IN_TURN, *texts)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_512_planted_bytes_are_found_with_their_line(self):
        done = run(self.folder, "compare", "plain.pickle", "planted.pickle", "--fail-on", "memory")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("where the two differ most: +512 B", done.stdout)
        rows = [line for line in done.stdout.splitlines() if "train.py:" in line]
        self.assertEqual(len(rows), 1, done.stdout)
        self.assertRegex(
            rows[0], rf"train.py:{PLANTED_LINE} step +only in B +\+512 B +0 +512 +512$"
        )
        self.assertRegex(done.stderr, rf"train.py:{PLANTED_LINE} step: \+512 B$")

    def test_framework_frames_are_hidden_unless_asked_for(self):
        words = ["compare", "plain.pickle", "planted.pickle", "--format", "csv"]
        self.assertNotIn(" < ", run(self.folder, *words).stdout)
        self.assertRegex(
            run(self.folder, *words, "--framework-frames").stdout,
            rf"step \(.*train.py:{PLANTED_LINE}\) < ",
        )

    def test_pickles_of_other_protocols_and_settings_are_read(self):
        with open(self.folder / "plain.pickle", "rb") as file:
            snapshot = pickle.load(file)  # noqa: S301  written a moment ago by us
        snapshot["allocator_settings"]["expandable_segments"] = True
        for protocol in (4, 5):
            path = self.folder / f"protocol{protocol}.pickle"
            path.write_bytes(pickle.dumps(snapshot, protocol))
            done = run(self.folder, "compare", "plain.pickle", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"expandable_segments +false +true")
            self.assertIn("The snapshots are equal", done.stdout)


if __name__ == "__main__":
    HEADROOM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
