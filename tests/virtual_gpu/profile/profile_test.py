#!/usr/bin/env python3
"""headroom on a virtual card: what it prints, how exact it is, how it fails.

usage: profile_test.py HEADROOM [unittest arguments]
"""

import functools
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, at_night, share_by_day  # noqa: E402

HEADROOM = ""
ROOT = Path(__file__).resolve().parents[3]
GIB = 1 << 30
STEPS = ("--warmup-steps", "2", "--measure-steps", "1")


def run(*arguments, **environment):
    return subprocess.run([HEADROOM, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


@functools.cache
def same(*arguments):
    """profile() of arguments that several tests ask for, run once."""
    return profile(*arguments)


def profile(*arguments, **environment):
    """The exit code, the Record (None without one) and stderr but for how far it is."""
    done = run("profile", *arguments, *STEPS, "--format", "json", **environment)
    talk = [line for line in done.stderr.splitlines(keepends=True)
            if not re.search(r": \d+ steps$", line)]
    return done.returncode, json.loads(done.stdout) if done.stdout else None, "".join(talk)


class Profile(unittest.TestCase):
    def test_a_training_step_has_bytes_and_neither_values_nor_times(self):
        code, record, _ = same("--model-size", "small", "--profile-type", "training",
                               "--device", "virtual:h200")
        self.assertEqual(code, 0, record["reason"])
        self.assertEqual((record["step_ms"], record["losses"]), ([], []))
        self.assertFalse(record["environment"]["device_is_real"])
        self.assertEqual(record["environment"]["device_name"], "NVIDIA H200")
        self.assertEqual(record["environment"]["virtual_card"]["card"], "h200")
        # Weights, gradients and two moments in FP32.
        states = 16 * 128_625_408
        self.assertGreater(record["peak_allocated_bytes"], states)
        self.assertGreaterEqual(record["peak_reserved_bytes"], record["peak_allocated_bytes"])
        parameters = record["categories_at_peak_bytes"]["parameters"]
        self.assertEqual(parameters, 4 * 128_625_408)
        self.assertEqual(record["predicted"]["residual_bytes_per_block"],
                         record["residual_bytes_per_block"])

    def test_beside_the_card_the_host_has_figures_of_its_own(self):
        _, record, _ = same("--model-size", "small", "--profile-type", "training",
                            "--device", "virtual:h200")
        self.assertEqual((record["schema_version"], record["space"]), (3, "device"))
        self.assertEqual(set(record["spaces"]), {"host", "host_pinned"})
        host = record["spaces"]["host"]
        # The batch is drawn there: 4 sequences of 512 tokens and one more, 8 bytes each.
        self.assertGreaterEqual(host["peak_allocated_bytes"], 8 * (4 * 512 + 1))
        self.assertLess(host["peak_allocated_bytes"], 1 << 20)
        self.assertEqual(sum(host["categories_at_peak_bytes"].values()),
                         host["peak_allocated_bytes"])
        self.assertEqual(list(host["phases"]), sorted(record["phase_order"]))
        self.assertEqual(record["phase_runs"], dict.fromkeys(record["phase_order"], 1))

    def test_the_same_cell_twice_is_the_same_to_the_byte(self):
        cell = ("--model-size", "small", "--profile-type", "training", "--precision", "bf16",
                "--device", "virtual:a100-80gb")
        first, second = (profile(*cell)[1] for _ in range(2))
        for key in ("peak_allocated_bytes", "peak_reserved_bytes", "peak_requested_bytes", "phases",
                    "categories_at_peak_bytes"):
            self.assertEqual(first[key], second[key])

    def test_the_snapshot_is_whole_and_its_phases_are_on_the_allocators_clock(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "run.pickle")
            code, record, _ = profile("--model-size", "small", "--profile-type", "training",
                                      "--device", "virtual:h200", "--output", path)
            self.assertEqual(code, 0, record["reason"])
            valid = run("snapshot", "validate", path)
            self.assertEqual((valid.returncode, valid.stdout), (0, f"ok: {path}\n"))
            top = json.loads(run("snapshot", "top", path, "--format", "json").stdout)
            self.assertEqual(top["peak_bytes"], record["peak_requested_bytes"])
            phases = {row["phase"] for row in top["allocations"]}
            self.assertTrue(phases & {"forward", "loss", "backward", "optimizer", "block"}, phases)
            with open(path, "rb") as file:
                snapshot = pickle.load(file)  # noqa: S301  written a moment ago by us
        times = [event["time_us"] for event in snapshot["device_traces"][0]]
        marks = [mark["time_us"] for mark in snapshot["external_annotations"]]
        self.assertLessEqual(times[0] - 1e6, marks[0])
        self.assertLessEqual(marks[-1], times[-1] + 1e6)

    def test_out_of_memory_is_libtorchs_own(self):
        code, record, _ = profile("--model-size", "10B", "--profile-type", "training",
                                  "--device", "virtual:h200")
        self.assertEqual((code, record["status"]), (4, "oom"))
        self.assertIn("total capacity of 139.8", record["reason"])

    def test_an_out_of_memory_has_the_figures_of_its_moment_and_a_snapshot_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "oom.pickle")
            code, record, err = profile("--model-size", "small", "--profile-type", "training",
                                        "--device", "virtual:h200,bytes=3GiB", "--snapshot", path)
            self.assertEqual((code, record["status"]), (4, "oom"))
            moment = record["out_of_memory"]
            self.assertEqual((moment["during"], moment["memory"]), ("warm-up step 1", "device"))
            self.assertIn(moment["phase"], record["reason"])
            self.assertIn(f"warm-up step 1, {moment['phase']}: CUDA out of memory", err)
            # The same figures as in libtorch's own sentence.
            for bytes_, unit, text in ((moment["tried_bytes"], 1 << 20, "Tried to allocate {} MiB"),
                                       (moment["free_bytes"], 1 << 20, "of which {} MiB is free"),
                                       (moment["total_bytes"], GIB, "total capacity of {} GiB"),
                                       (moment["allocated_bytes"], GIB, "{} GiB is allocated by PyTorch")):
                self.assertIn(text.format(f"{bytes_ / unit:.2f}"), record["reason"])
            self.assertGreater(moment["reserved_bytes"], moment["allocated_bytes"])
            # The advice is said once, beside the reason and not in it.
            self.assertNotIn("expandable_segments", record["reason"])
            self.assertEqual(sum("expandable_segments" in note for note in record["notes"]), 1)
            self.assertEqual(run("snapshot", "validate", path).returncode, 0)
            with open(path, "rb") as file:
                snapshot = pickle.load(file)  # noqa: S301  written a moment ago by us
        self.assertEqual(sum(segment["allocated_size"] for segment in snapshot["segments"]),
                         moment["allocated_bytes"])
        last = snapshot["device_traces"][0][-1]
        self.assertEqual(last["action"], "oom")
        self.assertTrue(any("model/" in frame["filename"] or "train/" in frame["filename"]
                            for frame in last["frames"]), last["frames"][:3])

    def test_an_unlimited_card_says_what_is_missing(self):
        code, record, _ = profile("--model-size", "405b", "--layers", "20", "--profile-type", "training",
                                  "--context-length", "512", "--device", "virtual:h200,bytes=unlimited")
        self.assertEqual(code, 0, record["reason"])
        self.assertGreater(record["peak_allocated_bytes"], 16 * 64e9)
        self.assertTrue(any("short by" in note for note in record["notes"]), record["notes"])
        self.assertLess(record["environment"]["cell"]["max_rss_bytes"], 1 * GIB)

    def test_allocator_settings_work_as_on_a_card(self):
        cell = ("--model-size", "small", "--profile-type", "training", "--device", "virtual:h200", "--alloc-conf")
        default = same(*cell[:-1])[1]
        expandable = profile(*cell, "expandable_segments:True")[1]
        # libtorch cannot record that backend's allocations.
        asynchronous = profile(*cell, "backend:cudaMallocAsync", "--record-steps", "0")[1]
        self.assertEqual(expandable["status"], "ok", expandable["reason"])
        self.assertLess(expandable["peak_reserved_bytes"], default["peak_reserved_bytes"])
        self.assertEqual(expandable["peak_requested_bytes"], default["peak_requested_bytes"])
        self.assertEqual(asynchronous["status"], "ok", asynchronous["reason"])

    def test_a_watched_run_tells_growth_and_which_setting_reserves_less(self):
        flags = ("--model-size", "small", "--profile-type", "training", "--device", "virtual:h200",
                 "--watch", "--measure-steps", "3", "--warmup-steps", "1")
        done = run("profile", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Nothing grows: the last step ends with as many live bytes", done.stdout)
        rows = dict(re.findall(r"^(none|expandable_segments:True) .* (\d+\.\d+) GiB  +\d", done.stdout, re.M))
        self.assertLess(float(rows["expandable_segments:True"]), float(rows["none"]))
        self.assertIn("--alloc-conf expandable_segments:True reserves", done.stdout)
        if not IS_NIGHT:  # by day: tests/bench/cell/watch_test.cpp
            return
        record = json.loads(run("profile", *flags, "--format", "json").stdout)
        self.assertEqual(len(record["watched"]["after_steps"]), 3)
        self.assertEqual(record["watched"]["growth"], [])
        self.assertEqual(record["spec"]["record_steps"], 3)

    def test_of_a_virtual_card_the_drivers_library_is_not_asked(self):
        stub = Path(HEADROOM).parents[1] / "tests/libstub_nvml.so"
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "libnvidia-ml.so.1").symlink_to(stub)
            asked = Path(folder, "asked")
            _, record, _ = profile("--model-size", "small", "--device", "virtual:h200",
                                   LD_LIBRARY_PATH=folder, STUB_NVML_ASKED=str(asked))
            self.assertEqual(record["status"], "ok", record["reason"])
            self.assertNotIn("nvml", record["environment"])
            self.assertFalse(asked.exists())

    def test_what_was_preloaded_stays(self):
        other = subprocess.run(["sh", "-c", "ldconfig -p | awk '/libm.so.6/ {print $NF; exit}'"],
                               capture_output=True, text=True, check=True).stdout.strip()
        _, record, _ = profile("--model-size", "small", "--device", "virtual:h200", LD_PRELOAD=other)
        self.assertTrue(record["environment"]["allocator_variables"]["LD_PRELOAD"]
                        .endswith(":libcublasLt.so:" + Path(other).name))

    def test_a_build_path_may_hold_spaces_and_colons(self):
        with (tempfile.TemporaryDirectory(prefix="a b:c") as folder,
              tempfile.TemporaryDirectory() as scratch):
            library = Path(folder, "lib")
            library.symlink_to(Path(HEADROOM).resolve().parents[1] / "lib")
            code, record, error = profile("--model-size", "small", "--device", "virtual:h200",
                                          HEADROOM_VIRTUAL_GPU=str(library), TMPDIR=scratch)
            left = os.listdir(scratch)
        self.assertEqual((code, error), (0, ""), record)
        self.assertEqual(left, [])

    def test_the_shells_numbering_of_real_cards_is_not_the_virtual_ones(self):
        for cards in share_by_day(("", "3", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"), step=3):
            code, record, error = profile("--model-size", "small", "--device", "virtual:h200",
                                          CUDA_VISIBLE_DEVICES=cards)
            self.assertEqual((code, error), (0, ""), record)


class BadInput(unittest.TestCase):
    def refused(self, device, code, *words, **environment):
        done = run("profile", "--model-size", "small", "--device", device, **environment)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_an_unknown_card_names_near_ones(self):
        self.refused("virtual:h20o", 2, "h200", "example")
        self.refused("virtual:", 2, "example")

    def test_a_card_that_libtorch_has_no_code_for(self):
        self.refused("virtual:v100", 2, "refused", "sm_70")

    def test_allocator_settings_that_libtorch_does_not_take(self):
        cases = (("x", ["it ends where a value is expected", "expandable_segments"]),
                 ("no_such_key:1", ["no_such_key", "expandable_segments"]),
                 ("expandable_segments:maybe", ["True", "maybe"]),
                 ("max_split_size_mb:5", ["too small"]),
                 ("max_split_size_mb:x", ["a value is no number"]))
        for conf, words in share_by_day(cases, step=3):  # libtorch is asked
            for command in ("profile", "sweep") if conf == "x" and IS_NIGHT else ("profile",):
                done = run(command, "--model-size", "small", "--device", "virtual:h200",
                           "--alloc-conf", conf)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                for word in ["--alloc-conf", "example", *words]:
                    self.assertIn(word, done.stderr)
        done = run("dryrun", "--card", "h200", "--alloc-conf", "x", "--", "true")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertIn("--alloc-conf: 'x' is refused by libtorch", done.stderr)
        self.refused("virtual:h200", 2, "PYTORCH_CUDA_ALLOC_CONF: 'x' is refused",
                     PYTORCH_CUDA_ALLOC_CONF="x")

    def test_sizes_that_are_none(self):
        self.refused("virtual:h200,bytes=lots", 2, "bytes=")
        self.refused("virtual:h200,bytes=1MiB", 2, "context")
        self.refused("virtual:h200,speed=9", 2, "bytes=SIZE")

    def test_a_size_as_a_log_prints_it_is_rounded_to_the_byte(self):
        done = run("profile", "--model-size", "small", "--context-length", "64", "--batch-size", "1",
                   "--warmup-steps", "0", "--measure-steps", "1", "--device",
                   "virtual:t4,bytes=14.56GiB", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        card = json.loads(done.stdout)["environment"]["virtual_card"]
        self.assertEqual(card["total_bytes"], 15633680957)

    def test_a_run_that_is_fine_says_nothing_of_its_own_reads(self):
        done = run("profile", "--model-size", "small", "--context-length", "64", "--batch-size", "1",
                   "--profile-type", "training", "--precision", "fp16", "--optimizer", "adam8bit",
                   "--warmup-steps", "0", "--measure-steps", "1", "--device", "virtual:h200")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("virtual GPU:", done.stderr)

    def test_a_stand_in_that_is_not_there(self):
        self.refused("virtual:h200", 5, "is missing", HEADROOM_VIRTUAL_GPU="/nonexistent")


class Sweep(unittest.TestCase):
    CELL = ("--model-size", "small", "--context-length", "128", "--warmup-steps", "0",
            "--measure-steps", "1", "--record-steps", "0", "--format", "jsonl")

    def sweep(self, *arguments, **environment):
        done = run("sweep", *self.CELL, *arguments, **environment)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def test_another_definition_of_a_card_is_another_card(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name, total in (("a", 1500000000), ("b", 1600000000)):
                path = Path(folder) / f"{name}.json"
                path.write_text(json.dumps({"cards": [{"name": "h200", "total_bytes": total}]}))
                os.utime(path, (1, 1))  # of the same size and time
                files.append(str(path))
            records = str(Path(folder) / "records.jsonl")
            arguments = ("--device", "virtual:h200", "--records", records)
            first, _ = self.sweep(*arguments, HEADROOM_CARDS=files[0])
            second, talk = self.sweep(*arguments, HEADROOM_CARDS=files[1])
            self.assertNotIn("already", talk)
            self.assertEqual([row[0]["environment"]["virtual_card"]["total_bytes"]
                              for row in (first, second)], [1500000000, 1600000000])
            again, talk = self.sweep(*arguments, HEADROOM_CARDS=files[0])
            self.assertIn("1 of 1 Records are already", talk)
            self.assertEqual(again, first)
            table = run("table", "summary", records).stdout
            self.assertNotIn("Not shown", table)
            for total in (1500000000, 1600000000):
                self.assertIn(f"card total_bytes={total}", table)

    def test_in_one_process_a_workspace_of_backward_stays_for_the_next_cell(self):
        arguments = ("--device", "virtual:a800-80gb", "--profile-type", "training,forward-grad")
        apart, _ = self.sweep(*arguments)
        together, _ = self.sweep(*arguments, "--one-process")
        self.assertEqual(len({row["environment"]["cell"]["pid"] for row in together}), 1)
        self.assertEqual([row["environment"]["cell"]["cells_before"] for row in together], [0, 1])
        self.assertEqual(together[0]["peak_allocated_bytes"], apart[0]["peak_allocated_bytes"])
        # cuBLAS's default workspace before Hopper, and what the allocator does not split off.
        more = together[1]["peak_allocated_bytes"] - apart[1]["peak_allocated_bytes"]
        self.assertGreaterEqual(more, (8 << 20) + (128 << 10))
        self.assertLess(more, 10 << 20)


class Exactness(unittest.TestCase):
    def test_the_published_measurement(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([ROOT / "studies/published/compare_published.sh", "--output-dir", folder],
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, "HEADROOM_BIN": HEADROOM})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]]
                for line in done.stdout.splitlines() if line.startswith("|") and "%" in line]
        off = {tuple(row[:4]): abs(float(row[6].removesuffix(" %"))) for row in rows}
        self.assertEqual(len(off), 24)
        # Equal to the last digit that was printed.
        without_cause = [abs(float(row[4]) - float(row[5])) for row in rows if not row[7]]
        self.assertEqual(len(without_cause), 17)
        self.assertLessEqual(max(without_cause), 0.00055, off)
        peaks = [value for key, value in off.items() if key[3] == "peak"]
        self.assertEqual(len(peaks), 8)
        self.assertLessEqual(max(peaks), 0.002, off)
        self.assertLessEqual(max(off.values()), 0.2, off)

    def suite(self, virtual):
        """gpu_suite.sh with a virtual H200 in the place of the real card."""
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([ROOT / "scripts/gpu_suite.sh", "--quick", "--real", "virtual:h200",
                                   "--virtual", virtual, "--output-dir", folder],
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, "HEADROOM_BIN": HEADROOM})

    def test_virtual_against_virtual_has_no_difference(self):
        done = self.suite("virtual:h200")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 of 3 cells are equal", done.stdout)
        said = [line for line in done.stdout.splitlines() if line.startswith("Addresses of seg")]
        self.assertEqual(len(said), 1, done.stdout)
        count = int(re.search(r"and virtual: (\d+) and", said[0])[1])
        self.assertIn(f"{count} have the same size in the order of addresses, {count} the same "
                      "offset", said[0])
        self.assertNotIn("differs", said[0])

    def test_segments_that_lie_elsewhere_are_told(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, addresses in (("real", (992, 960, 980)), ("virtual", (992, 960, 928))):
                segments = [{"address": mib << 20, "total_size": 20 << 20} for mib in addresses]
                Path(folder, name).write_bytes(pickle.dumps(
                    {"segments": segments, "device_traces": [[]]}, protocol=2))
                Path(folder, name + ".jsonl").write_text(json.dumps(
                    {"name": "cell", "status": "ok", "spec": {"snapshot": f"{folder}/{name}"}}))
            said = subprocess.run(
                [sys.executable, ROOT / "scripts/lib/records/segment_addresses.py", f"{folder}/real.jsonl",
                 f"{folder}/virtual.jsonl"], capture_output=True, text=True, check=True).stdout
        self.assertIn("3 and 3 segments; 3 have the same size in the order of addresses, 1 the "
                      "same offset; 2 and 3 lie a multiple of 32 MiB below the highest", said)
        self.assertIn("number 2 from the highest: 20 MiB at -32 MiB and 20 MiB at -52 MiB", said)

    @at_night  # by day: tests/scripts/exactness_test.py
    def test_another_card_is_found_to_differ(self):
        done = self.suite("virtual:a100-80gb")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)


if __name__ == "__main__":
    HEADROOM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
