#!/usr/bin/env python3
"""Weights in a file, --param-offload nvme:DIR, by the real program: the losses of weights that stay, the
bytes that theory predicts, and every fault of a disk. No file is ever seen in the directory.

usage: disk_weights_test.py HEADROOM FAULTY_DISK.so
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import disk_runs
from disk_runs import OnADisk, main

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import share_by_day  # noqa: E402
from processes import has_open, until  # noqa: E402

LAYERS = 5
# A block in a file: matrices are whole pages here, the two norms are not.
ON_PAGES = 4 * 64 * 64 * 4 + 3 * 64 * 96 * 4 + 2 * 4096


def run(*flags, states="cpu", mode="training", **options):
    update = ["--optimizer-offload", states] if mode == "training" else []
    return disk_runs.run(*update, *flags, layers=LAYERS, mode=mode, **options)


class DiskWeights(OnADisk, unittest.TestCase):
    FLAG = "--param-offload"

    def on_disk(self, *flags, **options):
        return run("--param-offload", f"nvme:{self.folder}", *flags, **options)

    def record(self, *flags, **options):
        done, (record,) = self.on_disk(*flags, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(self.folder), [])
        return record

    def test_losses_are_those_of_weights_that_stay(self):
        for mode in ("training", "forward-backward"):
            done, (record,) = run(mode=mode, steps=4)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.record(mode=mode, steps=4)["losses"], record["losses"])

    def test_states_lie_beside_them_and_a_run_goes_on_from_those(self):
        whole = self.record(steps=4)["losses"]
        halves = []
        for _ in range(2):
            done, (record,) = self.on_disk(states=f"nvme:{self.folder},keep", steps=2)
            self.assertEqual(done.returncode, 0, done.stderr)
            halves += record["losses"]
        self.assertEqual(halves, whole)

    def test_bytes_are_theorys_and_a_virtual_card_writes_none(self):
        for mode, device in share_by_day((("training", "cpu"), ("training", "virtual:h200"),
                                          ("forward-backward", "virtual:h200"), ("forward", "virtual:h200")), step=3):
            record = self.record(mode=mode, device=device, recorded=1, steps=1)
            predicted, traffic = record["predicted"], record["host_traffic_bytes"]
            self.assertEqual(record["spaces"]["disk"]["peak_allocated_bytes"], LAYERS * ON_PAGES)
            self.assertEqual(predicted["disk_bytes"], LAYERS * ON_PAGES)
            blocks = 5 if mode == "forward" else 9  # backward begins with the last one
            self.assertEqual(traffic["from_disk"], blocks * ON_PAGES)
            self.assertEqual(traffic["to_disk"], LAYERS * ON_PAGES if mode == "training" else 0)
            for way in ("from_disk", "to_disk", "to_card", "to_host"):
                self.assertEqual(traffic[way], predicted[way + "_bytes"], way)
            if device != "cpu":
                self.assertEqual(record["spaces"]["host_pinned"]["peak_allocated_bytes"],
                                 predicted["host_pinned_bytes"])

    def test_a_directory_may_be_a_link(self):
        link = Path(self.folder, "link")
        with tempfile.TemporaryDirectory() as folder:
            link.symlink_to(folder)
            done, _ = run("--param-offload", f"nvme:{link}")
            self.assertEqual(done.returncode, 0, done.stderr)

    def fails(self, pattern, **options):
        done, (record,) = self.on_disk(**options)
        self.assertEqual(done.returncode, 5, done.stderr)
        lines = [line for line in done.stderr.splitlines() if self.folder in line]
        self.assertEqual(lines, done.stderr.splitlines()[-1:])
        self.assertRegex(lines[0], f"^headroom: .*{pattern}$")
        self.assertEqual(record["status"], "unwritable")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_disk_without_room_shows_before_the_first_step(self):
        self.fails(f"cannot write {self.folder}: No space left on device; the weights take a file of "
                   ".*", fault="fallocate:full:1")

    def test_where_no_room_is_reserved_it_is_said(self):
        record = self.record(fault="fallocate:unsupported:0")
        self.assertRegex("\n".join(record["notes"]), "cannot reserve space")

    # 45 transfers write the blocks and 45 read what masters begin as; a step reads 81 and writes 45.
    def test_a_disk_that_fails_or_fills_in_the_middle(self):
        for fault, verb, why in share_by_day((("pread:eio:1", "read", "Input/output error"),
                                              ("pread:eio:60", "read", "Input/output error"),
                                              ("pread:eio:130", "read", "Input/output error"),
                                              ("pwrite:eio:20", "write", "Input/output error"),
                                              ("pwrite:full:60", "write", "No space left on device"),
                                              ("pwrite:eio:90", "write", "Input/output error"))):
            with self.subTest(fault):
                self.fails(f"cannot {verb} {self.folder} \\(weights\\): {why}", fault=fault)

    def test_short_reads_and_writes_are_gone_on_with(self):
        whole = self.record()["losses"]
        for fault in ("pread:short:2", "pwrite:short:3"):
            self.assertEqual(self.record(fault=fault)["losses"], whole, fault)

    def test_the_rows_beside_it_are_measured(self):
        done, records = run("--param-offload", f"nvme:{self.folder},none,cpu", verb="sweep",
                            fault="pread:eio:60")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual([record["status"] for record in records], ["unwritable", "ok", "ok"])

    def test_memory_is_no_disk_and_it_is_said_once(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no tmpfs here")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            done, (record,) = run("--param-offload", f"nvme:{folder}", states=f"nvme:{folder}")
            self.assertEqual(done.returncode, 0, done.stderr)
            notes = [note for note in record["notes"] if "is on tmpfs, in memory" in note]
            self.assertEqual(len(notes), 1, record["notes"])

    def test_a_run_that_is_killed_leaves_nothing_and_others_do_not_mind_it(self):
        process = subprocess.Popen(disk_runs.command("--param-offload", f"nvme:{self.folder}",
                                                     "--optimizer-offload", "cpu", steps=100000),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.addCleanup(process.stderr.close)
        until(lambda: process.poll() is not None or has_open(process.pid, self.folder), "keeps weights")
        self.assertIsNone(process.poll())
        self.record()  # sees no file of the other one
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    main()
