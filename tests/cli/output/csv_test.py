#!/usr/bin/env python3
"""CSV for programs: every value has a place of its own, what is not there is empty.

usage: csv_test.py HEADROOM STUB_CELL [unittest arguments]
"""

import collections
import csv
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM = STUB_CELL = ""
ROOT = Path(__file__).resolve().parents[3]
# Several tables each, so CSV of them is one of table, row, column, value.
REPORTS = [
    ["theory", "--model-size", "small"],
    ["theory", "--model-size", "2.7B", "--precision", "bf16", "--attention", "sdpa"],
    ["theory", "--model-size", "small", "--profile-type", "forward", "--precision", "fp16"],
    ["rlhf", "--model-size", "small"],
    ["rlhf", "--model-size", "2.7B", "--num-gpus", "16", "--pp", "2", "--zero", "3", "--swap-phases", "--optimizer-offload",
     "--reference", "offload"],
    ["rlhf", "--model-size", "2.7B", "--num-gpus", "8", "--dp", "8", "--optimizer-offload", "--precision", "bf16"],
    ["rlhf", "--model-size", "405b", "--num-gpus", "8"],
    ["rlhf", "--formula", "closed-form"],
    ["budget", "--model-size", "7b"],
    ["profile", "--model-size", "small", "--profile-type", "training"],
]


def run(*words):
    done = subprocess.run([HEADROOM, *words], capture_output=True, text=True, check=False,
                          env={**os.environ, "HEADROOM_CELL": STUB_CELL})
    return done.stdout


@functools.cache  # several tests ask for the same reports
def report_of(*words):
    return rows_of(*words)


def rows_of(*words):
    return list(csv.DictReader(io.StringIO(run(*words, "--format", "csv"))))


class Csv(unittest.TestCase):
    def test_every_value_of_a_report_has_a_place_of_its_own(self):
        for words in REPORTS:
            with self.subTest(words=" ".join(words)):
                rows = report_of(*words)
                self.assertGreater(len(rows), 10)
                places = collections.Counter((row["table"], row["row"], row["column"]) for row in rows)
                self.assertEqual([place for place, count in places.items() if count > 1], [])

    def test_no_value_is_a_word_for_nothing(self):
        for words in REPORTS:
            with self.subTest(words=" ".join(words)):
                self.assertEqual([row for row in report_of(*words) if row["value"] == "n/a"], [])

    def test_a_table_says_every_setting_of_a_row_and_leaves_empty_what_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            records = os.path.join(folder, "runs.jsonl")
            run("sweep", "--model-size", "small", "--context-length", "128,1024", "--records", records)
            rows = rows_of("table", "summary", records)
        self.assertEqual([row["status"] for row in rows], ["ok", "oom"])
        for row in rows:
            self.assertEqual((row["model_size"], row["batch_size"], row["precision"], row["layers"]),
                             ("small", "4", "fp32", "12"))
            self.assertEqual((row["alloc_conf"], row["tokens"]), ("", ""))
        self.assertEqual(rows[0]["reason"], "")
        self.assertEqual(rows[1]["peak_allocated_bytes"], "")

    def test_committed_records_of_every_kind_come_apart_by_their_settings(self):
        settings = ["model_size", "context_length", "profile_type", "precision", "batch_size", "device",
                    "record_steps"]
        for name in ("cpu/small_2026-11-22.jsonl", "virtual/h200_2026-11-22.jsonl"):
            path = str(ROOT / "results" / name)
            rows = rows_of("table", "summary", path)
            places = collections.Counter(tuple(row[key] for key in settings) for row in rows)
            self.assertEqual(set(places.values()), {1}, name)

    def test_named_and_custom_sizes_read_right_beside_each_other(self):
        with tempfile.TemporaryDirectory() as folder:
            records = os.path.join(folder, "runs.jsonl")
            run("sweep", "--model-size", "small", "--records", records)
            run("sweep", "--model-size", "small", "--layers", "2", "--records", records)
            run("sweep", "--model-size", "custom", "--d-model", "64", "--d-ff", "128", "--layers", "3",
                "--heads", "2", "--vocab-size", "100", "--records", records)
            rows = rows_of("table", "summary", records)
            self.assertEqual([(row["model_size"], row["layers"], row["d_model"]) for row in rows],
                             [("small", "12", "768"), ("custom", "2", "768"), ("custom", "3", "64")])
            shown = json.loads(run("table", "summary", records, "--format", "json"))["rows"]
            self.assertEqual([row["layers"] for row in shown], [12, 2, 3])


if __name__ == "__main__":
    HEADROOM, STUB_CELL = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    unittest.main()
