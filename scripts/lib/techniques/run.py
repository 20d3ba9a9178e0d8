"""Measures every row of the table of memory techniques.

usage: run.py HEADROOM --records FILE --device DEVICE --model-size SIZE [--rounds N]

Memory: each row on DEVICE; a real card gives times too. Time and loss: a small model on the CPU and
real text, every row in every round, so that the step without the technique stands beside it. FILE
gets the Records, each with "technique": its row, "what": "memory" or "time", "round": N.
Exit codes: 0 all measured, 3 some failed, 4 all failed, 130 interrupted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import CASES  # noqa: E402  (python -I does not look beside the script)

# Small enough for all rows in a few minutes on two cores, large enough that a block's products and
# not its calls take the time.
SMALL = {"model-size": "custom", "d-model": "256", "d-ff": "1024", "layers": "8", "heads": "8",
         "vocab-size": "256", "context-length": "128", "batch-size": "4", "device": "cpu",
         "token-type": "uint16", "record-steps": "0"}
STEPS = 20  # the loss is the last one's
WARMUP = 2


def words_of(flags):
    return [f"--{name}={value}" for name, value in flags.items()]


def real_text(folder):
    """The documents of this repository, a token a byte."""
    root = Path(__file__).resolve().parents[3]
    text = b"".join(path.read_bytes() for path in sorted(root.glob("docs/*.md")))
    path = Path(folder, "text.uint16")
    path.write_bytes(array("H", list(text)).tobytes())
    return str(path)


def say(text):
    print(text, file=sys.stderr, flush=True)


class Runner:
    def __init__(self, headroom, records):
        self.headroom = headroom
        self.records = records
        self.tried = self.failed = 0

    def cell(self, case, flags, **marks):
        """One Record, appended to the file."""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.headroom, "sweep", "--profile-type", "training", "--format", "jsonl",
                       "--records", str(Path(folder, "cell.jsonl")),
                       *words_of({**flags, **case.flags})]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.tried += 1
        if done.returncode == 130:
            sys.exit(130)
        if not done.stdout.strip():
            self.failed += 1
            say(f"  {case.name}: {' '.join(command)}\n{done.stderr.strip()}")
            return
        record = json.loads(done.stdout.splitlines()[-1])
        self.failed += record["status"] not in ("ok", "oom")
        if record["status"] != "ok":
            say(f"  {case.name}: {record['status']}: {record['reason']}")
        line = json.dumps({**record, "technique": case.name, **marks}, ensure_ascii=False)
        with open(self.records, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("headroom")
    parser.add_argument("--records", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--model-size", required=True)
    parser.add_argument("--context-length", default="512")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    Path(options.records).unlink(missing_ok=True)
    runner = Runner(options.headroom, options.records)
    is_card = not options.device.startswith("virtual:")
    for number, case in enumerate(CASES, start=1):
        say(f"[{number}/{len(CASES)}] memory: {case.name}")
        steps = {"warmup-steps": "3", "measure-steps": "10"} if is_card else \
                {"warmup-steps": "1", "measure-steps": "1"}
        runner.cell(case, {"model-size": options.model_size, "device": options.device,
                           "context-length": options.context_length, **steps}, what="memory")
    with tempfile.TemporaryDirectory() as folder:
        small = {**SMALL, "tokens": real_text(folder), "warmup-steps": str(WARMUP),
                 "measure-steps": str(STEPS - WARMUP)}
        for turn in range(options.rounds):
            say(f"round {turn + 1} of {options.rounds}: time and loss, on the CPU")
            for case in [*CASES, CASES[0]]:  # the first again: what a ratio of equal steps is
                runner.cell(case, small, what="time", round=turn)
    return 0 if not runner.failed else 3 if runner.failed < runner.tried else 4


if __name__ == "__main__":
    sys.exit(main())
