#!/usr/bin/env python3
"""^C at any moment of an iteration: exit 130, old files whole, nothing half-written, no states left.

usage: ppo_interrupt_test.py HEADROOM
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import share_by_day  # noqa: E402
from processes import family, processor_seconds, until  # noqa: E402

HEADROOM = os.path.abspath(sys.argv[1])
OLD = "what was here before\n"
# Seconds of processor that it and its cell have used by then: the start, building, each phase.
MOMENTS = (0.3, 0.8, 1.3, 1.9, 2.6)


class PpoInterruptTest(unittest.TestCase):
    def interrupt_after(self, seconds, folder, device):
        for name in ("a", "c"):
            os.mkdir(os.path.join(folder, name))
        for name in ("step.pickle", "time.svg"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(OLD)
        command = [HEADROOM, "ppo", "--model-size", "custom", "--d-model", "128", "--d-ff", "256",
                   "--layers", "6", "--heads", "4", "--vocab-size", "500", "--batch-size", "16",
                   "--prompt-len", "64", "--response-len", "64", "--epochs", "4", "--iterations",
                   "100", "--device", device, "--swap-phases", "--snapshot", "step.pickle",
                   "--output", "time.svg", "--format", "json",
                   "--actor-optimizer-offload", f"nvme:{folder}/a",
                   "--critic-optimizer-offload", f"nvme:{folder}/c"]
        with open(os.path.join(folder, "out"), "w", encoding="utf-8") as out:
            process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.PIPE,
                                       text=True)
        until(lambda: process.poll() is not None or
              processor_seconds(*family(process.pid)) >= seconds, f"uses {seconds} s of processor")
        self.assertIsNone(process.poll(), "it ended by itself")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        return process.returncode, err

    def check(self, device):
        for seconds in share_by_day(MOMENTS):
            with self.subTest(seconds=seconds), tempfile.TemporaryDirectory() as folder:
                code, err = self.interrupt_after(seconds, folder, device)
                self.assertIn(code, (130, -signal.SIGINT), err)  # before cells run it just ends
                if code == 130:
                    self.assertIn("interrupted", err)
                for name in ("step.pickle", "time.svg"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        self.assertEqual(file.read(), OLD)
                with open(os.path.join(folder, "out"), encoding="utf-8") as file:
                    self.assertEqual(file.read(), "")
                self.assertEqual(sorted(os.listdir(folder)),
                                 ["a", "c", "out", "step.pickle", "time.svg"])
                self.assertEqual(os.listdir(os.path.join(folder, "a")), [])
                self.assertEqual(os.listdir(os.path.join(folder, "c")), [])

    def test_on_the_cpu(self):
        self.check("cpu")

    def test_on_a_virtual_card(self):
        self.check("virtual:h200")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
