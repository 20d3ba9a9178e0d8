"""exactness_table.py from Records alone, and the committed table of an H100 from its Records."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "results/h100-80gb"


def table(real, virtual):
    return subprocess.run([sys.executable, "-IS", ROOT / "scripts/lib/records/exactness_table.py", "no headroom",
                           real, virtual], capture_output=True, text=True, check=False)


class ExactnessTest(unittest.TestCase):
    def test_the_committed_table_is_that_of_the_committed_records(self):
        done = table(KEPT / "real.jsonl", KEPT / "virtual.jsonl")
        self.assertEqual(done.stdout, (KEPT / "exactness.md").read_text(encoding="utf-8"), done.stderr)

    def test_committed_records_name_no_folder_of_a_machine(self):
        for name in ("real", "virtual"):
            for line in (KEPT / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
                self.assertNotIn("/", json.loads(line)["spec"]["snapshot"])

    def compared(self, change):
        """The table and exit code of one committed cell beside itself, changed."""
        record = json.loads((KEPT / "real.jsonl").read_text(encoding="utf-8").splitlines()[0])
        with tempfile.TemporaryDirectory() as folder:
            real, virtual = Path(folder, "real"), Path(folder, "virtual")
            real.write_text(json.dumps(record), encoding="utf-8")
            change(record)
            virtual.write_text(json.dumps(record), encoding="utf-8")
            return table(real, virtual)

    def test_without_snapshots_bytes_and_the_number_of_events_are_compared(self):
        done = self.compared(lambda record: None)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| 0 | 0 | 0 | not kept | 1938 in both |", done.stdout)
        self.assertIn("1 of 1 cells are equal to the byte in every phase, with as many allocator events", done.stdout)

    def test_a_byte_or_an_event_more_is_a_difference(self):
        done = self.compared(lambda record: record["phases"]["forward"].update(reserved_bytes=624951297))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("| 0 | 1 | 0 | not kept |", done.stdout)
        done = self.compared(lambda record: record.update(trace_events=1939))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("1938 and 1939", done.stdout)


if __name__ == "__main__":
    unittest.main()
