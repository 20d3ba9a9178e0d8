#!/usr/bin/env python3
"""Checkpoints when something goes wrong: one line with the reason, and the newest whole
one stays and loads.

usage: checkpoint_faults_test.py HEADROOM FAULTY_CHECKPOINT
"""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import share_by_day  # noqa: E402

HEADROOM, FAULTY = sys.argv[1:3]
SMALL = ("--d-model 32 --d-ff 64 --layers 2 --heads 4 --vocab-size 97 --context-length 16 "
         "--batch-size 2 --warmup-steps 0 --record-steps 0")
MODEL = (f"--model-size custom {SMALL} --threads 1 --device cpu --profile-type training "
         "--stacks none --format json")
SOON = 240  # seconds


def command(flags):
    """Of a flag that is given twice the last value; every flag here has one."""
    words = f"{MODEL} {flags}".split()
    merged = dict(zip(words[::2], words[1::2]))
    return [HEADROOM, "profile", *(word for pair in merged.items() for word in pair)]


def run(flags, fault=None, **more):
    environment = dict(os.environ)
    if fault:
        environment.update(LD_PRELOAD=FAULTY, HEADROOM_CHECKPOINT_FAULT=fault)
    return subprocess.run(command(flags), env=environment, capture_output=True, text=True,
                          timeout=SOON, check=False, **more)


def names(directory):
    return sorted(one.name for one in Path(directory).iterdir())


class CheckpointFaults(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name) / "checkpoints"

    def save(self, flags="--measure-steps 1"):
        done = run(f"{flags} --save-checkpoint {self.directory}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def loads(self, step, mesh="", directory=None):
        """The newest whole one is that of `step`: the next run saves the one after it."""
        other = self.directory.parent / "further"
        done = run(f"--load-checkpoint {directory or self.directory} --measure-steps 1 {mesh} "
                   f"--save-checkpoint {other}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(names(other), [f"step-{step + 1:08}"])
        shutil.rmtree(other)

    def refused(self, flags, *words, code=2):
        done = run(flags)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        line = done.stderr.strip()
        self.assertNotIn("\n", line)
        for word in words:
            self.assertIn(word, line)

    # Faults while it is written.

    def test_a_full_disk_names_rank_and_reason_and_leaves_the_one_before(self):
        for mesh, fault, rank in share_by_day((("--mesh dp=2 --zero 1", "1:2:full", "rank 1: "), ("", "0:2:full", ""))):
            with self.subTest(mesh):
                shutil.rmtree(self.directory, ignore_errors=True)
                done = run(f"--measure-steps 4 --save-every 1 --save-checkpoint {self.directory} {mesh}",
                           fault)
                self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
                reason = json.loads(done.stdout)["reason"]
                self.assertRegex(reason, f"^{rank}cannot write .*/step-00000002.tmp/shard-0000.-of-0000"
                                         "[12].safetensors: No space left on device$")
                self.assertEqual(names(self.directory), ["step-00000001"])
                self.loads(1, mesh)

    def test_a_disk_that_is_really_full(self):
        tmpfs = "mount -t tmpfs -o size=1300k none"
        probe = subprocess.run(["unshare", "-rm", "sh", "-c", f"{tmpfs} {self.directory.parent}"],
                               capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("no tmpfs here")
        self.directory.mkdir()
        line = " ".join(command(f"--measure-steps 4 --save-every 1 --d-model 64 --mesh dp=2 --zero 2 "
                                f"--save-checkpoint {self.directory}"))
        goes_on = " ".join(command(f"--measure-steps 1 --d-model 64 --load-checkpoint {self.directory}"))
        script = (f"{tmpfs} {self.directory} && {line}; echo $?; ls {self.directory}; "
                  f"{goes_on} > /dev/null && echo it loads")
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True,
                              timeout=SOON, check=False)
        record, *after = done.stdout.splitlines()
        self.assertRegex(json.loads(record)["reason"],
                         "^rank [01]: cannot write .*: No space left on device$")
        self.assertEqual(after, ["5", "step-00000001", "it loads"], done.stderr)

    def test_a_limit_of_file_sizes_leaves_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        done = run(f"--measure-steps 2 --save-checkpoint {self.directory}", preexec_fn=limit)
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertIn("File too large", json.loads(done.stdout)["reason"])
        self.assertEqual(names(self.directory), [])

    def test_a_rank_that_is_killed_while_it_writes_leaves_the_one_before(self):
        saving = f"--save-every 1 --save-checkpoint {self.directory} --mesh pp=2 --micro-batches 2"
        done = run(f"--measure-steps 4 {saving}", "1:2:kill")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["reason"], "rank 1: killed by signal 9 (SIGKILL)")
        self.assertEqual(names(self.directory), ["step-00000001", "step-00000002.tmp"])
        self.loads(1)
        # The next one to save takes away what is left of it.
        done = run(f"--measure-steps 2 --load-checkpoint {self.directory} {saving}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(names(self.directory), ["step-00000002", "step-00000003"])

    def test_control_c_while_it_is_written_leaves_the_one_before(self):
        environment = {**os.environ, "LD_PRELOAD": FAULTY, "HEADROOM_CHECKPOINT_FAULT": "1:2:hang"}
        process = subprocess.Popen(
            command(f"--measure-steps 4 --save-every 1 --save-checkpoint {self.directory} "
                    "--mesh dp=2 --zero 1"),
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + SOON
        unfinished = self.directory / "step-00000002.tmp"
        while not (unfinished.exists() and any(unfinished.iterdir())):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SOON)
        self.assertEqual(process.returncode, 130)
        self.loads(1)

    # Files that do not count.

    def test_what_is_not_whole_does_not_count(self):
        self.save("--measure-steps 2 --save-every 1")
        shutil.copytree(self.directory / "step-00000002", self.directory / "step-00000009.tmp")
        (self.directory / "step-00000008").mkdir()
        (self.directory / "step-99999999999999999999").mkdir()
        (self.directory / "step-7x").mkdir()
        self.loads(2)
        self.loads(1, directory=self.directory / "step-00000001")

    def test_a_damaged_one_is_refused_in_one_line(self):
        self.save()
        whole = self.directory / "step-00000001"
        shard = next(whole.glob("shard-*"))
        index = next(whole.glob("*.index.json"))
        data, text = shard.read_bytes(), index.read_text()
        shard.write_bytes(data[:-8])
        self.refused_in_the_cell("is cut short or damaged at tensor")
        shard.unlink()
        self.refused_in_the_cell("cannot be read: No such file")
        shard.write_bytes(data)
        entries = json.loads(text)
        del entries["tensors"]["layers.0.ffn.w1.weight"]
        index.write_text(json.dumps(entries))
        self.refused(f"--load-checkpoint {self.directory}", "is damaged")
        entries["metadata"]["version"] = 1  # as it was before checksums
        del entries["xxh3"]
        index.write_text(json.dumps(entries))
        self.refused_in_the_cell("does not contain layers.0.ffn.w1.weight")
        for damaged in (text[:100], "{}", "[]", text.replace('"step":1', '"step":-1'), ""):
            index.write_text(damaged)
            self.refused(f"--load-checkpoint {self.directory}", "is damaged")

    def test_a_bit_that_the_disk_has_changed_never_becomes_a_loss(self):
        self.save("--measure-steps 2 --save-every 1")
        older, whole = (self.directory / f"step-0000000{step}" for step in (1, 2))
        goes_on = f"--load-checkpoint {self.directory} --measure-steps 1"
        right = json.loads(run(goes_on).stdout)
        self.assertIn(f"resuming from step 2 of {whole}", right["notes"])
        files = [next(whole.glob("shard-*")), next(whole.glob("*.index.json"))]
        draw = random.Random(35)
        for file in files:
            data = file.read_bytes()
            pieces = 8 + int.from_bytes(data[:8], "little") if file is files[0] else 0
            for number in share_by_day(range(8), step=5):
                at = draw.randrange(pieces, len(data))
                with self.subTest(file=file.name, byte=at):
                    damaged = bytearray(data)
                    damaged[at] ^= 1 << number
                    file.write_bytes(damaged)
                    done = run(goes_on)
                    text = done.stderr + done.stdout
                    self.assertEqual(done.returncode, 2, text)
                    self.assertIn("is damaged: ", text)
                    self.assertIn(file.name if file is files[0] else "its index", text)
                    self.assertIn(f"an older one beside it is whole: {older}", text)
            file.write_bytes(data)
        self.assertEqual(json.loads(run(goes_on).stdout)["losses"], right["losses"])
        for broken in (older, whole):
            shard = next(broken.glob("shard-*"))
            shard.write_bytes(shard.read_bytes()[:-1] + b"\x55")
        self.refused_in_the_cell("no older checkpoint beside it is whole")

    def test_a_load_says_its_step_and_what_it_passed_over(self):
        self.save("--measure-steps 2 --save-every 1")
        newest = self.directory / "step-00000002"
        next(newest.glob("*.index.json")).unlink()
        done = run(f"--load-checkpoint {self.directory} --save-checkpoint {self.directory} "
                   "--measure-steps 1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        notes = json.loads(done.stdout)["notes"]
        self.assertIn(f"skipped the newer checkpoint {newest}: its index is missing or cannot "
                      "be read", notes)
        self.assertIn(f"resuming from step 1 of {self.directory / 'step-00000001'}", notes)
        self.assertEqual(names(self.directory),
                         ["step-00000001", "step-00000002", "step-00000002.damaged"])

    def refused_in_the_cell(self, words):
        done = run(f"--load-checkpoint {self.directory} --measure-steps 1")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("--load-checkpoint", json.loads(done.stdout)["reason"])
        self.assertIn(words, json.loads(done.stdout)["reason"])

    # Requests that are refused.

    def test_the_checkpoint_of_another_model_is_refused_with_what_differs(self):
        self.save()
        load = f"--load-checkpoint {self.directory}"
        for other, there in (("--d-model 64", "--d-model 32"), ("--layers 3", "--layers 2"),
                             ("--heads 2 --kv-heads 2", "--heads 4"), ("--d-ff 96", "--d-ff 64"),
                             ("--vocab-size 101", "--vocab-size 97"),
                             ("--optimizer lion", "--optimizer adamw"),
                             ("--param-dtype bf16", "--param-dtype fp32")):
            flag = other.split()[0]
            self.refused(f"{load} {other}", f"was saved by a run with {there}", "this run has "
                                                                                f"{flag}")
        self.refused(f"--load-checkpoint {self.directory.parent / 'none'}", "is no directory")
        self.refused(f"--load-checkpoint {self.directory.parent}", "contains no complete checkpoint")

    def test_8_bit_states_go_on_under_the_same_tp_alone(self):
        adam8bit = "--optimizer adam8bit --d-model 64"
        self.save(f"{adam8bit} --measure-steps 1")
        self.refused(f"{adam8bit} --load-checkpoint {self.directory} --mesh tp=2",
                     "was saved by a run with --mesh tp=1, and this run has --mesh tp=2")

    def test_what_differs_otherwise_is_said(self):
        self.save()
        done = run(f"--load-checkpoint {self.directory} --measure-steps 1 --seed 5")
        self.assertIn("the checkpoint was saved by a run with --seed 0, and this run has 5",
                      json.loads(done.stdout)["notes"])

    def test_another_precision_than_the_checkpoint_s_is_said_and_the_same_is_not(self):
        self.save()
        for precision, is_said in share_by_day((("bf16", True), ("fp32", False))):
            flags = f"--measure-steps 1 --precision {precision}"
            done = run(f"--load-checkpoint {self.directory} {flags}")
            self.assertEqual(done.returncode, 0, done.stderr)
            said = [note for note in json.loads(done.stdout)["notes"] if "--precision" in note]
            note = ("the checkpoint was saved by a run with --precision fp32, and this run has "
                    f"{precision}")
            self.assertEqual(said, [note] if is_said else [])

    def test_a_run_that_begins_anew_does_not_save_among_another_run_s(self):
        self.save()
        self.refused(f"--save-checkpoint {self.directory}",
                     "contains the checkpoint of step 1 of another run")

    def test_a_second_run_does_not_save_where_one_is_at_work(self):
        first = subprocess.Popen(command(f"--measure-steps 100000 --save-every 20 "
                                         f"--save-checkpoint {self.directory}"),
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + SOON
            while not (self.directory.exists() and
                       any(name[-1].isdigit() for name in names(self.directory))):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            self.refused(f"--load-checkpoint {self.directory} --save-checkpoint {self.directory}",
                         "another run saves its checkpoints there", code=5)
        finally:
            first.send_signal(signal.SIGINT)
            first.wait(timeout=SOON)

    def test_what_cannot_be_saved_is_refused_in_one_line(self):
        save = f"--save-checkpoint {self.directory}"
        for more, word in (("--profile-type forward", "--profile-type forward has no optimizer"),
                           ("--device virtual:h100-80gb", "needs values"),
                           ("--optimizer-offload cpu", "--optimizer-offload cpu"),
                           ("--optimizer-offload nvme:/tmp,keep", "its own checkpoint"),
                           ("--optimizer-offload cpu --param-offload cpu", "--optimizer-offload cpu")):
            self.refused(f"{save} {more}", "--save-checkpoint", word)
        self.refused("--save-every 3", "--save-every", "needs a directory to save to")
        self.refused(f"--load-checkpoint {self.directory} --load-weights {HEADROOM}",
                     "--load-weights", "would be overwritten")
        self.assertFalse(self.directory.exists())
        self.refused("--save-checkpoint /dev/null/a", "cannot make the directory", code=5)
        sweep = subprocess.run([HEADROOM, "sweep", "--model-size", "small", "--save-checkpoint", "a"],
                               capture_output=True, text=True, check=False)
        self.assertEqual(sweep.returncode, 2)
        self.assertIn("belongs to one run, and a sweep makes many", sweep.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
