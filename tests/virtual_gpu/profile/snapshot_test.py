#!/usr/bin/env python3
"""A snapshot of a virtual card: the line that made each tensor, and the purpose of each block.

usage: snapshot_test.py HEADROOM [unittest arguments]
"""

import collections
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import share_by_day  # noqa: E402

HEADROOM = ""
ROOT = Path(__file__).resolve().parents[3]
MODEL = str(ROOT / "model") + "/"
CELL = ("--model-size", "small", "--context-length", "128", "--profile-type", "training",
        "--device", "virtual:h200")
STEPS = ("--warmup-steps", "0", "--measure-steps", "1", "--format", "json")
BEFORE = "allocated before the recording"


def run(*arguments, **environment):
    return subprocess.run([HEADROOM, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def record(*arguments, **environment):
    """The Record and the snapshot of a run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pickle"
        done = run("profile", *CELL, *STEPS, "--snapshot", str(path), *arguments, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        valid = run("snapshot", "validate", str(path))
        assert valid.returncode == 0, valid.stdout
        with open(path, "rb") as file:
            snapshot = pickle.load(file)  # noqa: S301  written a moment ago by us
    return json.loads(done.stdout), snapshot


def allocations(snapshot):
    """Of the recorded step, each with the innermost scope around it ("block 3", "loss")."""
    changes = [(mark["time_us"] + (mark["stage"] == "END"), mark)
               for mark in snapshot["external_annotations"]]
    open_scopes = []
    for event in snapshot["device_traces"][0]:
        while changes and changes[0][0] <= event["time_us"]:
            mark = changes.pop(0)[1]
            if mark["stage"] == "START":
                open_scopes.append(mark["name"])
            else:
                open_scopes.remove(mark["name"])
        if event["action"] == "alloc":
            yield event, open_scopes[-1] if open_scopes else ""


def made_by(event, source):
    """True if the stack passes through "model/layers.cpp RmsNorm::forward: rsqrt"."""
    file, rest = source.split(" ", 1)
    function = rest.split(": ")[0]
    for frame in event["frames"]:
        name = frame["name"].replace("(anonymous namespace)::", "").split("(")[0]
        if frame["filename"] != str(ROOT / file):
            continue
        if name.endswith("::" + function) or name == function.split("::")[-1]:
            return True
    return False


def forward_call(event):
    """The frames of the forward's call whose backward allocated this."""
    names = [frame["name"] for frame in event["frames"]]
    return event["frames"][names.index("backward of") + 1:] if "backward of" in names else []


def matched(tensors, events):
    """Of the tensors, (name, bytes, sources) each, those that are left without an event each."""
    owner = {}

    def claim(tensor, tried):
        _, size, sources = tensors[tensor]
        for i, event in enumerate(events):
            if i in tried or event["size"] != size:
                continue
            if not any(made_by(event, source) for source in sources):
                continue
            tried.add(i)
            if i not in owner or claim(owner[i], tried):
                owner[i] = tensor
                return True
        return False

    return [tensors[i][0] for i in range(len(tensors)) if not claim(i, set())]


def theory(*arguments):
    """Tensors kept for backward: by one block, and outside the blocks."""
    tables = json.loads(run("theory", *CELL, *arguments, "--format", "json").stdout)
    kept = {}
    for table in tables:
        tensors = kept[table["title"].split(":")[0]] = []
        for row in table["rows"]:
            if not row.get("storages") or " " not in row.get("source", ""):
                continue
            sources = [row["source"]]
            # Theory names the operation that saves it. Where that copies nothing it is older.
            if row["tensor"].split("_")[0] == "v":
                sources.append("model/layers.cpp Linear::forward: einsum")
            each = row["size_bytes"] // row["storages"]
            tensors += [(row["tensor"], each, sources)] * row["storages"]
    return kept["Kept for backward by one block"], kept["Kept outside the blocks"]


class Stacks(unittest.TestCase):
    def test_every_tensor_of_theory_is_found_with_its_line(self):
        every = ((), ("--precision", "bf16"), ("--attention", "sdpa"), ("--param-dtype", "bf16"),
                 ("--attention", "sdpa", "--precision", "bf16"), ("--activations", "int8"),
                 ("--activations", "fp8", "--attention", "sdpa", "--param-dtype", "bf16"))
        for options in share_by_day(every):
            with self.subTest(options=options):
                _, snapshot = record(*options)
                in_block, outside = theory(*options)
                kept = [(event, scope) for event, scope in allocations(snapshot)
                        if event["user_metadata"] == "activations"]
                block = [event for event, scope in kept if scope == "block 5"]
                self.assertEqual(len(block), len(in_block))
                self.assertEqual(matched(in_block, block), [])
                rest = [event for event, scope in kept if not scope.startswith("block")]
                self.assertEqual(matched(outside, rest), [])

    def test_every_allocation_inside_a_block_has_a_line_of_the_model(self):
        for options in ((), ("--precision", "bf16", "--attention", "sdpa")):
            _, snapshot = record(*options)
            inside = [event for event, scope in allocations(snapshot) if scope.startswith("block")]
            self.assertGreater(len(inside), 400)
            without = [event for event in inside
                       if not any(frame["filename"].startswith(MODEL)
                                  for frame in event["frames"])]
            self.assertEqual(without, [])

    def test_what_backward_allocates_has_the_line_whose_backward_it_is(self):
        every = ((), ("--param-dtype", "bf16"), ("--precision", "bf16", "--attention", "sdpa"),
                 ("--recompute", "full"), ("--precision", "fp8"))
        for options in share_by_day(every):
            with self.subTest(options=options):
                _, snapshot = record(*options)
                events = [event for event, scope in allocations(snapshot) if scope == "backward"]
                gradients = {event["user_metadata"].removeprefix("gradients: "): event
                             for event in events if event["user_metadata"].startswith("gradients")}
                self.assertEqual(len(gradients), 3 + 12 * 9)
                lines = {name: [frame["filename"].removeprefix(MODEL)
                                for frame in forward_call(event)
                                if frame["filename"].startswith(MODEL)]
                         for name, event in gradients.items()}
                self.assertEqual([name for name, files in lines.items() if not files], [])
                self.assertEqual(lines["layers.3.ffn.w1.weight"][0], "layers.cpp")
                self.assertTrue(made_by({"frames": forward_call(gradients["layers.3.ln1.weight"])},
                                        "model/layers.cpp RmsNorm::forward"))
                if "fp8" not in options:
                    self.assertTrue(
                        made_by({"frames": forward_call(gradients["layers.3.ffn.w1.weight"])},
                                "model/layers.cpp Linear::forward"))
                others = [event for event in events if event not in gradients.values()]
                without = [event for event in others if not any(
                    frame["filename"].startswith(MODEL) or "/train/" in frame["filename"]
                    for frame in forward_call(event))]
                self.assertLess(len(without), 0.01 * len(others))

    def test_the_allocators_machinery_is_on_top_of_no_stack(self):
        _, snapshot = record()
        every = [event["frames"] for event, _ in allocations(snapshot)]
        every += [forward_call(event) for event, _ in allocations(snapshot)]
        tops = {frames[0]["name"] for frames in every if frames}
        for word in ("CachingAllocator", "unwind", "StackTable", "::empty", "TensorIterator",
                     "RecordFunction", "stack_of_caller", "Calls::"):
            self.assertFalse([top for top in tops if word in top.split("<")[0]], word)

    def test_names_come_without_any_other_program(self):
        plain, snapshot = record()
        with tempfile.TemporaryDirectory() as folder:
            for name, body in (("addr2line", "sleep 600"), ("llvm-symbolizer", "echo ??:?")):
                tool = Path(folder) / name
                tool.write_text("#!/bin/sh\n" + body + "\n")
                tool.chmod(0o755)
            other, again = record(PATH=folder)
        self.assertEqual(other["peak_allocated_bytes"], plain["peak_allocated_bytes"])
        stacks = [[event["frames"] for event, _ in allocations(one)] for one in (snapshot, again)]
        self.assertEqual(*stacks)


class Purposes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.record, cls.snapshot = record()
        cls.live = [block for segment in cls.snapshot["segments"]
                    for block in segment["blocks"] if block["state"] != "inactive"]

    def test_what_lived_before_says_which_parameter_or_state_it_is_and_who_made_it(self):
        before = [block["frames"] for block in self.live
                  if block["frames"] and block["frames"][0]["filename"] == BEFORE]
        names = collections.Counter(frames[0]["name"] for frames in before)
        parameters = {name.split(": ")[1] for name in names if name.startswith("parameters: ")}
        self.assertIn("layers.11.ffn.w3.weight", parameters)
        self.assertEqual(len(parameters), 3 + 12 * 9)
        for frames in before:
            if frames[0]["name"].startswith("parameters: "):
                self.assertTrue(any(frame["filename"] == MODEL + "layers.cpp" for frame in frames),
                                frames)
        self.assertEqual(names["other: rotary cos"], 1)
        released = collections.Counter(
            event["user_metadata"] for event in self.snapshot["device_traces"][0]
            if event["action"] == "free_requested"
            and event["frames"][0]["filename"] == BEFORE)
        # The moments of the step before: the reference optimizer makes new ones.
        self.assertEqual(released["optimizer_state: layers.0.ffn.w1.weight"], 2)

    def test_every_event_says_what_its_block_is_for(self):
        kinds = collections.Counter(event["user_metadata"].split(":")[0]
                                    for event, _ in allocations(self.snapshot))
        self.assertEqual(kinds["gradients"], 3 + 12 * 9)
        self.assertEqual(kinds["optimizer_state"], 2 * (3 + 12 * 9))
        self.assertEqual(kinds[""], 0)

    def test_no_segment_and_no_block_is_without_frames(self):
        self.assertTrue(all(segment["frames"] for segment in self.snapshot["segments"]))
        self.assertTrue(all(block["frames"] for block in self.live))
        events = [event for event in self.snapshot["device_traces"][0]
                  if event["action"] == "segment_alloc"]
        self.assertTrue(all(event["frames"] for event in events))

    def test_a_snapshot_changes_no_figure(self):
        without = json.loads(run("profile", *CELL, *STEPS).stdout)
        for key in ("peak_allocated_bytes", "peak_reserved_bytes", "peak_requested_bytes", "phases",
                    "categories_at_peak_bytes", "trace_events"):
            self.assertEqual(self.record[key], without[key], key)


if __name__ == "__main__":
    HEADROOM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
