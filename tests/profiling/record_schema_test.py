#!/usr/bin/env python3
"""The committed schema of a Record is the program's, every committed Record is valid under it, and damaged ones are not.

usage: record_schema_test.py HEADROOM [unittest arguments]
Skipped (exit 77) without Debian's python3-jsonschema, or jsonschema of PyPI.
"""

import copy
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

SYSTEM_PYTHON = "/usr/bin/python3"  # has Debian's packages, which the Python of .venv does not see
try:
    import jsonschema
except ImportError:
    if sys.executable != SYSTEM_PYTHON and os.access(SYSTEM_PYTHON, os.X_OK):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    sys.exit(77)

HEADROOM = ""
ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs/inside/record.schema.json"
LEAST_RECORDS = 500  # committed today; fewer means that they were not found


def objects_in(path):
    """Of a file of lines, or of one document with Records somewhere inside."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        yield from (json.loads(line) for line in text.splitlines() if line.strip())
        return
    waiting = [json.loads(text)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
        if isinstance(value, (dict, list)):
            waiting.extend(value.values() if isinstance(value, dict) else value)


def is_record(value):
    return isinstance(value, dict) and {"schema_version", "status", "spec"} <= value.keys()


def committed_records():
    for path in sorted((ROOT / "results").rglob("*.json*")):
        for value in objects_in(path):
            if is_record(value):
                yield path.relative_to(ROOT), value


class RecordSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(SCHEMA.read_text())
        jsonschema.Draft202012Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)
        cls.records = list(committed_records())

    def test_it_is_the_programs(self):
        printed = subprocess.run([HEADROOM, "table", "--schema"], capture_output=True, check=True).stdout
        self.assertEqual(SCHEMA.read_bytes(), printed, "build/release/bin/headroom table --schema > docs/inside/record.schema.json")

    def test_every_committed_record_is_valid(self):
        self.assertGreaterEqual(len(self.records), LEAST_RECORDS)
        for path, record in self.records:
            for error in self.validator.iter_errors(record):
                self.fail(f"{path}: {record.get('name')}: {error.json_path}: {error.message[:300]}")

    def test_a_damaged_record_is_not(self):
        whole = next(record for _, record in self.records
                     if record["schema_version"] == 3 and record["status"] == "ok" and record["phases"])
        phase = next(iter(whole["phases"]))

        def damaged(change):
            record = copy.deepcopy(whole)
            change(record)
            return record

        changes = {
            "a status that does not exist": lambda record: record.update(status="fine"),
            "negative bytes": lambda record: record.update(peak_allocated_bytes=-1),
            "text for bytes": lambda record: record.update(peak_allocated_bytes="1 GiB"),
            "a list for the phases": lambda record: record.update(phases=[]),
            "negative bytes of a phase": lambda record: record["phases"][phase].update(reserved_bytes=-1),
            "a later version": lambda record: record.update(schema_version=4),
            "no settings": lambda record: record.pop("spec"),
            "text for a number": lambda record: record["spec"].update(batch_size="4"),
            "a negative time": lambda record: record.update(step_ms=[-1.0]),
        }
        self.assertTrue(self.validator.is_valid(whole))
        for name, change in changes.items():
            self.assertFalse(self.validator.is_valid(damaged(change)), name)
        # Readers ignore keys that they do not know.
        self.assertTrue(self.validator.is_valid(damaged(lambda record: record.update(new_key=1))))


if __name__ == "__main__":
    HEADROOM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
