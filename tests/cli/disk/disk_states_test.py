#!/usr/bin/env python3
"""States in files, --optimizer-offload nvme:DIR[,keep], by the real program: runs that go on, and every
fault of a disk. Each fault is one clear line, the right exit code and no file left.

usage: disk_states_test.py HEADROOM FAULTY_DISK.so
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from disk_runs import OnADisk, command, main, run

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT, share_by_day  # noqa: E402
from processes import family, lives, until  # noqa: E402

PARAMETERS = 2 * 100 * 64 + 64 + 2 * (4 * 64 * 64 + 3 * 64 * 96 + 2 * 64)


class DiskStates(OnADisk, unittest.TestCase):
    FLAG = "--optimizer-offload"

    def setUp(self):
        super().setUp()
        self.setting = f"nvme:{self.folder}"

    def on_disk(self, *flags, keep=False, **options):
        setting = self.setting + (",keep" if keep else "")
        return run("--optimizer-offload", setting, *flags, **options)

    def losses(self, *flags, **options):
        done, (record,) = self.on_disk(*flags, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return record["losses"]

    def left(self):
        return sorted(os.listdir(self.folder))

    def one_line(self, done, code, pattern):
        self.assertEqual(done.returncode, code, done.stderr)
        lines = done.stderr.splitlines()
        self.assertRegex(lines[-1], "^headroom: .*" + pattern)
        self.assertEqual([line for line in lines if "headroom-states" in line], lines[-1:])

    def test_losses_are_those_of_states_in_memory_and_nothing_is_left(self):
        done, (record,) = run("--optimizer-offload", "cpu", steps=4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.losses(steps=4), record["losses"])
        self.assertEqual(self.left(), [])

    def test_a_run_goes_on_from_states_that_were_kept(self):
        whole = self.losses(steps=6)
        first = self.losses(keep=True, steps=2)
        self.assertEqual(len(self.left()), 2, "a list, and one file")
        done, (record,) = self.on_disk(steps=4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(first + record["losses"], whole)
        self.assertIn(f"resuming from step 2, with the states in {self.folder}", record["notes"])
        self.assertEqual(len(self.left()), 2, "what was kept once is kept")

    def test_a_bit_that_the_disk_has_changed_is_refused_with_file_and_block(self):
        self.losses(keep=True, steps=2)
        before = self.left()
        states = next(Path(self.folder).glob("headroom-states.[ab]"))
        data = states.read_bytes()
        for at in share_by_day(range(4096, len(data), len(data) // 5), step=5):
            damaged = bytearray(data)
            damaged[at] ^= 1 << at % 8
            states.write_bytes(damaged)
            done, (record,) = self.on_disk(steps=1)
            self.one_line(done, 5, f"cannot read {states}: block [0-9]+ of [0-9]+ .* is damaged")
            self.assertEqual(record["losses"], [])
            self.assertEqual(self.left(), before)
        states.write_bytes(data)
        self.assertEqual(len(self.losses(steps=1)), 1)

    def test_another_runs_states_are_refused_and_stay(self):
        self.losses(keep=True, steps=1)
        before = self.left()
        done, _ = self.on_disk("--seed", "7")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], "contains the states of another run "
                                                       ".*seed=0.* "
                         "step 1.*this one is .*seed=7.*; allowed: a directory without states")
        self.assertEqual(self.left(), before)
        self.assertEqual(len(self.losses(steps=1)), 1)

    def test_another_runs_states_are_refused_before_a_cell_starts(self):
        self.losses(keep=True, steps=1)
        before = self.left()
        os.environ["HEADROOM_CELL"] = "/bin/false"
        self.addCleanup(os.environ.pop, "HEADROOM_CELL")
        for verb in ("profile", "sweep"):
            done, records = self.on_disk("--seed", "7", verb=verb)
            self.assertEqual((done.returncode, records), (2, []), done.stderr)
            self.assertRegex(done.stderr, "^headroom: --optimizer-offload: .* contains the "
                                          "states of "
                             "another run .*seed=0.*this one is .*seed=7.*\n$")
        # Numbers of a virtual card are counted, not kept: nothing is gone on from.
        done, _ = self.on_disk("--seed", "7", device="virtual:h200")
        self.assertNotIn("another run", done.stderr)
        # Some cells of a grid may resume, and the others are rows.
        done, _ = self.on_disk("--seed", "0,7", verb="sweep")
        self.assertNotEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.left(), before)

    def test_a_disk_without_room_shows_before_the_first_step(self):
        done, (record,) = self.on_disk(fault="fallocate:full:1")
        self.one_line(done, 5, "headroom-states.a: No space left on device; the states take two files")
        self.assertEqual(record["status"], "unwritable")
        self.assertEqual(self.left(), [])

    def test_a_disk_that_is_full_in_the_middle_of_a_step(self):
        for fault in share_by_day(("pwrite:full:35", "fdatasync:full:3")):
            done, (record,) = self.on_disk(fault=fault)
            self.one_line(done, 5, "cannot write .*headroom-states..: No space left on device$")
            self.assertEqual(record["status"], "unwritable")
            self.assertEqual(self.left(), [], fault)

    def test_a_disk_that_fails(self):
        for fault, verb in share_by_day((("pread:eio:30", "read"), ("pwrite:eio:35", "write"),
                                         ("fdatasync:eio:2", "write"))):
            done, (record,) = self.on_disk(fault=fault)
            self.one_line(done, 5, f"cannot {verb} .*headroom-states..: Input/output error$")
            self.assertEqual(record["status"], "unwritable")
            self.assertEqual(self.left(), [], fault)

    def test_a_disk_that_fails_costs_what_was_kept_nothing(self):
        whole = self.losses(steps=4)
        first = self.losses(keep=True, steps=2)
        done, _ = self.on_disk(fault="pwrite:eio:15", steps=2)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(self.step(), 2)
        self.assertEqual(first + self.losses(steps=2), whole)

    def test_short_reads_and_writes_are_gone_on_with(self):
        whole = self.losses()
        for fault in ("pread:short:2", "pwrite:short:3"):
            self.assertEqual(self.losses(fault=fault), whole, fault)

    def test_the_rows_beside_it_are_measured(self):
        done, records = run("--optimizer-offload", f"{self.setting},none", verb="sweep",
                            fault="pwrite:full:35")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual([record["status"] for record in records], ["unwritable", "ok"])
        self.assertEqual(self.left(), [])

    def test_memory_is_no_disk_and_it_is_said(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no tmpfs here")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            done, (record,) = run("--optimizer-offload", f"nvme:{folder}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex("\n".join(record["notes"]), "is on tmpfs, in memory: no O_DIRECT")
            self.assertEqual(os.listdir(folder), [])

    def step(self):
        """The name of the whole file."""
        try:
            return json.loads(Path(self.folder, "headroom-states.json").read_text())["step"]
        except FileNotFoundError:
            return -1

    def start(self, keep=False):
        """A run without end, in a group of its own, that has made two whole steps."""
        setting = self.setting + (",keep" if keep else "")
        process = subprocess.Popen(command("--optimizer-offload", setting, steps=100000),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        until(lambda: self.step() >= 2 or process.poll() is not None, "two steps")
        if process.poll() is not None:
            self.fail(process.stderr.read())
        return process

    def test_after_a_kill_a_run_goes_on_from_the_last_whole_step(self):
        process = self.start()
        members = family(process.pid)  # its cell is no child of ours
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        until(lambda: not any(map(lives, members)), "the cell goes")
        step = self.step()
        resumed = self.losses(steps=3)
        self.assertEqual(self.left(), [])
        self.assertEqual(self.losses(steps=step + 3)[step:], resumed)

    def test_two_runs_do_not_share_a_directory(self):
        process = self.start()
        done, records = self.on_disk()
        os.killpg(process.pid, signal.SIGINT)
        process.wait()
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(records, [])
        self.assertRegex(done.stderr, "^headroom: cannot write .*: another run keeps its states there\n$")
        self.assertEqual(self.left(), [], "interrupted, the first one has left nothing")

    def test_a_cell_that_is_killed_leaves_nothing_but_what_is_to_be_kept(self):
        for keep in (False, True)[not IS_NIGHT:]:  # in this order: what is kept stays
            process = self.start(keep=keep)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for child in children:
                os.kill(int(child), signal.SIGKILL)
            out, error = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 4, error)
            self.assertEqual(json.loads(out)["status"], "killed")
            self.assertEqual(len(self.left()), 2 if keep else 0, self.left())

    def test_on_a_virtual_card_the_bytes_are_counted_and_no_file_is_made(self):
        done, (record,) = self.on_disk(device="virtual:h200", recorded=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        done, (real,) = self.on_disk(recorded=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        for one in (record, real):
            predicted, spaces = one["predicted"], one["spaces"]
            self.assertEqual(spaces["disk"]["peak_allocated_bytes"], predicted["disk_bytes"])
            self.assertEqual(spaces["disk_buffers"]["peak_allocated_bytes"],
                             predicted["disk_buffers_bytes"])
            for way in ("from_disk", "to_disk"):
                self.assertEqual(one["host_traffic_bytes"][way], predicted[way + "_bytes"])
            # Twelve bytes a number, in arrays of whole pages, read once and written once.
            states = predicted["from_disk_bytes"]
            self.assertGreaterEqual(states, 12 * PARAMETERS)
            self.assertLess(states, 12 * PARAMETERS + 3 * 4096 * 21)
            self.assertEqual(predicted["disk_bytes"], 2 * (states + 4096))
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    main()
