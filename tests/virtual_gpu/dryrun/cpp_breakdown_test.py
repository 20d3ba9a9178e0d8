#!/usr/bin/env python3
"""`headroom dryrun --breakdown` of a C++ program: its owners and its lines by their bytes, the sum to the byte, the same
run as without it, and the instant at which memory runs out. And `--snapshot`, which torch's own _memory_viz.py opens.

usage: cpp_breakdown_test.py HEADROOM TRAIN_CPP MEMORY_VIZ_PY
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

SOURCE = Path(__file__).resolve().parent.parent / "programs/native/train_cpp.cpp"
HEADROOM, PROGRAM, VIEWER = (str(Path(path).absolute()) for path in sys.argv[1:4])
WIDTH = 1024
LINEAR = 4 * (WIDTH * WIDTH + WIDTH)
PARAMETERS = 2 * LINEAR + 4 * WIDTH  # and a scale
ROWS = 4 * 2048 * WIDTH


def line_of(text, function):
    """As the report prints the line of the program that has `text`, from any folder."""
    [number] = [i for i, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line]
    return f"{SOURCE}:{number} in {function}"


def viewer():
    spec = importlib.util.spec_from_file_location("memory_viz", VIEWER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def allocated_by_line(snapshot):
    """The bytes of all allocations by the innermost line of train_cpp.cpp."""
    lines, sizes = SOURCE.read_text().splitlines(), {}
    for event in snapshot["device_traces"][0]:
        own = [frame["line"] for frame in event.get("frames", []) if frame["filename"].endswith(SOURCE.name)]
        if event["action"] == "alloc" and own:
            line = lines[own[0] - 1].strip()
            sizes[line] = sizes.get(line, 0) + event["size"]
    return sizes


class CppBreakdown(unittest.TestCase):
    def run_dry(self, *flags, words=()):
        report = self.folder / "run.json"
        command = [HEADROOM, "dryrun", "--card", "a100-80gb", "--json", str(report), *flags, "--", PROGRAM, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        device = json.loads(report.read_text())["processes"][0]["devices"][0]
        counts = {key: device[key] for key in ("launches", "matrix_products", "allocator", "peak_bytes")}
        return int(done.stdout.split()[1]), counts, done.stderr

    def test_uses_are_known_and_sum_to_the_peak_and_nothing_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            peak, before, _ = self.run_dry()
            uses = self.folder / "uses.json"
            again, after, text = self.run_dry("--breakdown", "--output", str(uses))
            process = json.loads(uses.read_text())["processes"][0]
        self.assertEqual((again, after), (peak, before))
        device = process["devices"][0]
        sizes = device["categories"]
        self.assertEqual((sum(sizes.values()), device["allocated_bytes"]), (peak, peak))
        self.assertEqual(sizes["parameters"], PARAMETERS)
        self.assertEqual(sizes["buffers"], 4 * WIDTH)
        self.assertEqual(sizes["optimizer state"], 2 * PARAMETERS)
        self.assertEqual(sizes["activations"], 2 * ROWS)  # of the first layer: its input, and tanh's output
        self.assertEqual(device["reasons"],
                         ["made outside of backward and of steps; in C++ no module says when it runs"])
        owners = {row["module"]: row["categories"] for row in device["modules"]}
        self.assertEqual({name: sizes["parameters"] for name, sizes in owners.items() if "parameters" in sizes},
                         {"Net": 4 * WIDTH, "Net.first": LINEAR, "Net.second": LINEAR})
        self.assertEqual(owners["Net.second"]["gradients"], LINEAR)  # of the layer whose backward runs
        self.assertEqual(owners["torch::optim::AdamW (optimizer)"]["optimizer state"], 2 * PARAMETERS)
        self.assertEqual([(step["first"], step["last"]) for step in device["steps"][:2]], [(1, 1), (2, 3)])
        lines = {row["line"]: row["categories"] for row in device["lines"]}
        self.assertEqual(lines[line_of("net->to(", "main")], {"buffers": 4 * WIDTH, "parameters": PARAMETERS})
        self.assertEqual(lines[line_of("optimizer.step()", "main")]["optimizer state"], 2 * PARAMETERS)
        self.assertEqual(lines[line_of("return second(", "forward")]["activations"], 2 * ROWS)
        self.assertEqual([line for line in lines if not line.startswith(str(SOURCE))], [])
        self.assertIn("AddmmBackward0", text)

    def test_a_program_names_its_own_states_and_steps_and_its_snapshot_opens(self):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            peak, before, _ = self.run_dry(words=["own"])
            uses, file = self.folder / "uses.json", self.folder / "run.pickle"
            again, after, text = self.run_dry("--breakdown", "--output", str(uses), "--snapshot", str(file), words=["own"])
            [device] = json.loads(uses.read_text())["processes"][0]["devices"]
            snapshot = pickle.loads(file.read_bytes())
            checked = subprocess.run([HEADROOM, "snapshot", "validate", str(file)], capture_output=True, text=True,
                                     timeout=120, check=False)
        self.assertEqual((again, after), (peak, before))
        self.assertEqual(checked.returncode, 0, checked.stdout)
        sizes = device["categories"]
        self.assertEqual((sum(sizes.values()), sizes["optimizer state"]), (peak, PARAMETERS))
        owners = {row["module"]: row["categories"] for row in device["modules"]}
        self.assertEqual(owners["Momentum (optimizer)"], {"optimizer state": PARAMETERS})
        steps = [(step["owner"], step["first"], step["last"]) for step in device["steps"]]
        self.assertEqual(steps[:2], [("Momentum (optimizer)", 1, 1), ("Momentum (optimizer)", 2, 3)])
        self.assertIn(f"snapshot: {file}\n", text)
        [states] = [size for line, size in allocated_by_line(snapshot).items() if "torch::zeros_like(" in line]
        self.assertEqual(states, PARAMETERS)
        self.assertIn("Allocator State History", viewer().segment_plot(snapshot))

    def test_a_hook_has_its_own_line_and_not_that_of_the_backward_in_which_it_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = Path(folder)
            uses = self.folder / "uses.json"
            self.run_dry("--breakdown", "--output", str(uses), words=["hook"])
            [device] = json.loads(uses.read_text())["processes"][0]["devices"]
        sizes = {row["line"]: sum(row["categories"].values()) for row in device["lines"]}
        self.assertEqual(sizes.get(line_of("gradient.clone()", "operator()")), ROWS, sizes)

    def test_where_memory_runs_out_the_uses_of_that_instant_are_known_and_the_function_without_debug_information(self):
        with tempfile.TemporaryDirectory() as folder:
            uses = Path(folder) / "uses.json"
            program = Path(folder) / "stripped"
            subprocess.run(["objcopy", "--strip-debug", PROGRAM, program], check=True, timeout=60)
            file = Path(folder) / "run.pickle"
            command = [HEADROOM, "dryrun", "--card", "t4", "--bytes", "180MiB", "--breakdown", "--output", str(uses),
                       "--snapshot", str(file), "--", str(program)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
            [refusal] = json.loads(uses.read_text())["processes"][0]["out_of_memory"]
            snapshot = pickle.loads(file.read_bytes())
        self.assertNotEqual(done.returncode, 0)
        where = "stripped in main (PowBackward0)"
        self.assertEqual((refusal["wanted_bytes"], refusal["where"]), (20 << 20, where))  # a segment
        self.assertEqual([row["line"] for row in refusal["lines"]], ["stripped in main"])
        sizes = refusal["categories"]
        self.assertEqual(sum(sizes.values()), refusal["allocated_bytes"])
        self.assertEqual((sizes["parameters"], sizes["buffers"]), (PARAMETERS, 4 * WIDTH))
        self.assertEqual(sizes["temporaries"], ROWS)  # a gradient
        self.assertIn(f"wanted at {where}", done.stderr)
        live = [block for segment in snapshot["segments"] for block in segment["blocks"] if block["state"] != "inactive"]
        self.assertEqual(sum(block["size"] for block in live), refusal["allocated_bytes"])
        self.assertEqual([block for block in live if not block["frames"]], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
