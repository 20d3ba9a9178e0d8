#!/usr/bin/env python3
"""`headroom dryrun --breakdown`: the uses of memory at the peak, of programs whose uses are known.

usage: breakdown_test.py HEADROOM [unittest arguments]

All programs run in forks of one process, once with and once without --breakdown; by day a third of those that only
compare events, and none without a snapshot.
"""

from __future__ import annotations

import importlib.util
import json
import pickle
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, at_night, share_by_day  # noqa: E402

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
MEBI = 2**20
WIDTH, LAYERS, ROWS = 256, 4, 512  # of broken_down.py
MATRIX = 4 * WIDTH * 4 * WIDTH
PARAMETERS = LAYERS * 2 * MATRIX
ROW_BYTES = 4 * ROWS * WIDTH  # of one activation of the model's width
KNOWN = ["adamw", "threaded", "checkpointed", "accumulated", "autocast", "masters", "quantized", "growing", "in_backward",
         "line_search", "generated", "captured", "refused"] + (["compiled"] if IS_NIGHT else [])
OTHERS = share_by_day(["train_transformer.py", "train_linear.py", "cuda/graphs.py", "cuda/searches.py", "out_of_memory.py,caught",
                       "cuda/recorded_blocks.py", "train_batches.py,--batch-size,2"], step=3)
BROKEN_DOWN = [f"broken_down.py,{name}" for name in KNOWN] + ["train_transformer.py", "out_of_memory.py,caught"]
ALONE = "alone" if IS_NIGHT else "recorded"  # the run with a breakdown; by day it writes a snapshot too
WITH_EVENTS = OTHERS + [f"broken_down.py,{name}" for name in ("adamw", "checkpointed", "captured", "refused")]


def run(folder: Path, name: str, texts: list[str], *flags: str) -> subprocess.CompletedProcess:
    command = [HEADROOM, "dryrun", "--card", "rtx4090", "--bytes", "2GiB", "--json", f"{name}.json", *flags]
    program = [sys.executable, str(PROGRAMS / "processes/in_turn.py"), *(str(PROGRAMS / text) for text in texts)]
    return subprocess.run([*command, "--", *program], cwd=folder, capture_output=True, text=True, timeout=850)


def by_text(done: subprocess.CompletedProcess) -> dict[str, int]:
    """The process of each program."""
    words = (line.split(maxsplit=1) for line in done.stdout.splitlines())
    return {pair[1].removeprefix(f"{PROGRAMS}/"): int(pair[0])
            for pair in words if len(pair) == 2 and pair[1].startswith(str(PROGRAMS))}


class Places:
    """Addresses as (number of the segment, offset), streams by number: two runs have other addresses."""

    def __init__(self):
        self.segments = {}  # address: (number, bytes)
        self.count = 0
        self.streams = {}

    def of(self, event: dict) -> tuple:
        if event["action"] == "oom":
            return event["action"], event["size"], event["device_free"]
        address, size = event["addr"], event["size"]
        if event["action"] == "segment_alloc":
            self.segments[address] = self.count, size
            self.count += 1
        start = max((base for base in self.segments if base <= address), default=None)
        place = (self.segments[start][0], address - start) if start is not None else None
        stream = self.streams.setdefault(event["stream"], len(self.streams))
        return event["action"], size, place, stream


def events(path: Path) -> list:
    """Frees in a row in one order: autocast empties its cache in the order of its addresses."""
    with open(path, "rb") as file:
        traces = pickle.load(file)["device_traces"]  # noqa: S301  written a moment ago by us
    places = [Places() for _ in traces]
    every = [of.of(event) for of, trace in zip(places, traces, strict=True) for event in trace
             if event["action"] != "snapshot"]  # taken where memory runs out
    ordered = []
    for is_free, row in groupby(every, lambda event: event[0].startswith("free")):
        ordered += sorted(row, key=repr) if is_free else row
    return ordered


class Breakdown(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        breakdown = ("--breakdown", "--output", "breakdown.json")
        recorded = ("--snapshot", "recorded.pickle")
        runs = [("plain", WITH_EVENTS, "--snapshot", "plain.pickle")]
        if IS_NIGHT:
            runs += [("recorded", WITH_EVENTS, *recorded, "--breakdown"), (ALONE, BROKEN_DOWN, *breakdown)]
        else:
            others = [text for text in BROKEN_DOWN if text not in WITH_EVENTS]
            runs.append(("recorded", WITH_EVENTS + others, *recorded, *breakdown))
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda words: run(cls.folder, *words), runs))
        cls.done = {words[0]: one for words, one in zip(runs, done, strict=True)}
        for one in done:
            assert one.returncode == 0, one.stderr
        cls.pids = {name: by_text(one) for name, one in cls.done.items()}
        read = {name: json.loads((cls.folder / f"{name}.json").read_text()) for name in cls.done}
        cls.counts = {name: {p["pid"]: p for p in document["processes"]} for name, document in read.items()}
        document = json.loads((cls.folder / "breakdown.json").read_text())
        pids = {pid: text for text, pid in cls.pids[ALONE].items()}
        cls.processes = {pids[p["pid"]]: p for p in document["processes"] if pids[p["pid"]] in BROKEN_DOWN}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def device(self, name: str) -> dict:
        return self.processes[f"broken_down.py,{name}"]["devices"][0]

    def uses(self, name: str) -> dict[str, int]:
        return self.device(name)["categories"]

    def refusal(self, name: str) -> dict:
        return self.processes[name]["out_of_memory"][-1]

    def test_every_program_has_a_breakdown(self):
        self.assertEqual(sorted(self.processes), sorted(BROKEN_DOWN))
        self.assertNotIn("not complete", self.done[ALONE].stderr)
        for process in self.processes.values():
            self.assertEqual(process["reason"], "")

    def test_the_events_of_the_allocator_are_the_same_with_and_without_it(self):
        for text in WITH_EVENTS:
            with self.subTest(text):
                plain, recorded = (events(self.folder / f"{name}.{self.pids[name][text]}.pickle")
                                   for name in ("plain", "recorded"))
                self.assertGreaterEqual(len(plain), 5)
                differing = [pair for pair in zip(plain, recorded, strict=False) if pair[0] != pair[1]]
                self.assertEqual(differing[:1], [])
                self.assertEqual(len(plain), len(recorded))

    @at_night
    def test_without_a_snapshot_the_figures_of_the_allocator_are_the_same_too(self):
        for text in sorted({*WITH_EVENTS} & {*BROKEN_DOWN}):
            with self.subTest(text):
                plain, alone = (self.counts[name][self.pids[name][text]]["devices"][0]["allocator"]
                                for name in ("plain", "alone"))
                self.assertEqual(plain, alone)

    def test_the_uses_sum_to_the_allocated_peak_to_the_byte(self):
        for text in BROKEN_DOWN:
            with self.subTest(text):
                device = self.processes[text]["devices"][0]
                known = self.counts[ALONE][self.pids[ALONE][text]]["devices"][0]["allocator"]
                self.assertEqual(device["allocated_bytes"], known["peak_allocated_bytes"])
                self.assertEqual(sum(device["categories"].values()), device["allocated_bytes"])
                rounding = device["categories"].get("allocator rounding", 0)
                self.assertNotIn("not attributed", device["categories"])
                for table in ("modules", "lines", "operations"):
                    self.assertEqual(sum(row["bytes"] for row in device[table]) + rounding,
                                     device["allocated_bytes"], table)
                for step in device["steps"]:
                    self.assertEqual(sum(step["categories"].values()), step["peak_allocated_bytes"])

    def test_a_peak_above_the_limit_is_an_exit_code(self):
        peak = self.device("accumulated")["allocated_bytes"]
        for most, code in ((peak, 0), (peak - 1, 1))[not IS_NIGHT:]:
            done = subprocess.run(
                [HEADROOM, "dryrun", "--card", "rtx4090", "--max-peak", str(most), "--", sys.executable,
                 str(PROGRAMS / "processes/in_turn.py"), f"{PROGRAMS}/broken_down.py,accumulated"], cwd=self.folder, capture_output=True, text=True,
                timeout=600)
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn("1 B more than", done.stderr)
        self.assertRegex(done.stderr, r"the most at \S+broken_down.py:\d+ in \w+")

    def test_known_sizes_are_exact(self):
        uses = self.uses("adamw")
        self.assertEqual(uses["parameters"], PARAMETERS)
        self.assertEqual(uses["buffers"], 4000)
        self.assertEqual(uses["optimizer state"], 2 * PARAMETERS + 4 * 2 * LAYERS)
        self.assertGreater(uses["workspaces"], 8 * MEBI)
        threaded = self.uses("threaded")  # a thread of autograd has a cuBLAS handle, with a workspace, of its own
        self.assertEqual(threaded, uses | {"workspaces": 2 * uses["workspaces"]})
        accumulated = self.uses("accumulated")
        self.assertEqual(accumulated["parameters"], PARAMETERS)
        self.assertEqual(accumulated["gradients"], PARAMETERS)
        for name in {*KNOWN} & {"checkpointed", "autocast", "growing", "compiled", "refused", "generated"}:
            self.assertEqual(self.uses(name)["parameters"], PARAMETERS, name)

    def test_copies_that_only_an_optimizer_has_are_master_weights(self):
        uses = self.uses("masters")
        self.assertEqual(uses["master weights"], PARAMETERS)
        self.assertEqual(uses["parameters"], PARAMETERS // 2)
        self.assertEqual(uses["optimizer state"], 2 * PARAMETERS + 4 * 2 * LAYERS)

    def test_codes_and_scales_of_a_quantized_tensor_are_of_their_owner_with_its_type(self):
        rows = {row["module"]: row["categories"] for row in self.device("quantized")["modules"]}
        of_weight, of_state = (bytes_ + 4 * bytes_ // 128 for bytes_ in (WIDTH * WIDTH, PARAMETERS // 4 + WIDTH * WIDTH))
        self.assertEqual(rows["Model.layers.* (Quantized)"], {"parameters": of_weight})
        self.assertEqual(rows["QuantizedSGD (optimizer) (Quantized)"], {"optimizer state": of_state})

    def test_layers_are_folded_with_their_count(self):
        rows = {row["module"]: row for row in self.device("accumulated")["modules"]}
        for name in ("Model.layers.*.up", "Model.layers.*.down"):
            self.assertEqual(rows[name]["count"], LAYERS)
            self.assertEqual(rows[name]["categories"]["parameters"], LAYERS * MATRIX)
            self.assertEqual(rows[name]["categories"]["gradients"], LAYERS * MATRIX)
        self.assertEqual(rows["AdamW (optimizer)"]["categories"]["optimizer state"],
                         self.uses("accumulated")["optimizer state"])

    def test_what_forward_keeps_for_backward_is_an_activation(self):
        refused = self.refusal("broken_down.py,refused")
        self.assertIn("activations", refused["categories"])
        kept, recomputed = (self.uses(name)["activations"] for name in ("growing", "checkpointed"))
        # Each block keeps its input and the output of relu, which is four times as wide.
        self.assertGreaterEqual(kept, LAYERS * 5 * ROW_BYTES)
        self.assertLess(recomputed, kept)

    def test_a_gradient_that_a_hook_uses_at_once_is_no_gradient_of_all(self):
        self.assertLess(self.uses("in_backward").get("gradients", 0), PARAMETERS)
        self.assertEqual(self.uses("in_backward")["optimizer state"] > PARAMETERS, True)

    def test_what_runs_without_gradients_keeps_nothing(self):
        self.assertNotIn("activations", self.uses("generated"))
        self.assertIn("temporaries", self.uses("generated"))

    def test_memory_of_a_graph_is_its_pools(self):
        self.assertIn("CUDA graph pools", self.uses("captured"))

    def test_steps_show_growth(self):
        steps = [step for step in self.device("growing")["steps"] if step["owner"]]
        self.assertEqual([step["owner"] for step in steps], ["SGD (optimizer)"] * 3)
        after = [step["live_bytes_after"] for step in steps]
        self.assertEqual(after[2] - after[1], ROW_BYTES)
        line = next(row for row in self.device("growing")["lines"] if "broken_down.py" in row["line"])
        self.assertRegex(line["line"], r"broken_down.py:\d+ in \w+")

    def test_where_memory_ran_out_the_uses_are_those_of_that_instant(self):
        for text in ("broken_down.py,refused", "out_of_memory.py,caught"):
            refusal = self.refusal(text)
            self.assertEqual(sum(refusal["categories"].values()), refusal["allocated_bytes"])
            self.assertGreater(refusal["wanted_bytes"], 100 * MEBI)
            self.assertIn(text.split(",")[0], refusal["where"])
            self.assertGreaterEqual(refusal["free_bytes_in_segments"], refusal["largest_free_block_bytes"])
        self.assertEqual(self.refusal("broken_down.py,refused")["categories"]["parameters"], PARAMETERS)

    def test_people_read_tables(self):
        text = self.done[ALONE].stderr
        for words in ("Memory of device 0 at its peak, in step", "By module", "By line", "By operation",
                      "By step of an optimizer", "Memory of device 0 where it ran out", "the largest block"):
            self.assertIn(words, text)


if __name__ == "__main__":
    HEADROOM = str(Path(sys.argv[1]).absolute())
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
