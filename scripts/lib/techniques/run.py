"""Measures every row of the table of memory techniques.

usage: run.py HEADROOM --records FILE --cells FOLDER --device DEVICE --model-size SIZE [--rounds N]
              [--compiled]

Memory: each row on DEVICE; a real card gives times too. Time and loss: a small model on the CPU and
real text, every row in every round, so that the step without the technique stands beside it. With
--compiled the rows of compiled kernels, and of the others the times of compiled kernels too, where
they run the row. FILE gets the Records, each with "technique": its row, "what": "memory", "time" or
"compiled time", "round": N. What the sweeps' own files under FOLDER answer is not run again.
Exit codes: 0 all measured, 3 some failed, 4 all failed, 130 interrupted.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from array import array
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import CASES, Case  # noqa: E402  (python -I does not look beside the script)

# Small enough for all rows in a few minutes on two cores, large enough that a block's products and
# not its calls take the time.
SMALL = {"model-size": "custom", "d-model": "256", "d-ff": "1024", "layers": "8", "heads": "8",
         "vocab-size": "256", "context-length": "128", "batch-size": "4", "device": "cpu",
         "token-type": "uint16", "record-steps": "0"}
STEPS = 20  # the loss is the last one's
WARMUP = 2

REFUSED = 2  # exit status of what the card, or another setting, does not allow
ANSWERS = ("ok", "oom", "unsupported")


def words_of(flags):
    return [f"--{name}={value}" for name, value in flags.items()]


def write_real_text(path):
    """The documents of this repository, a token a byte. The same bytes keep their file, whose time is
    part of what a Record is found by."""
    root = Path(__file__).resolve().parents[3]
    text = b"".join(doc.read_bytes() for doc in sorted(root.glob("docs/**/*.md")))
    tokens = array("H", list(text)).tobytes()
    if not path.exists() or path.read_bytes() != tokens:
        path.write_bytes(tokens)


def say(text):
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Cell:
    case: Case
    flags: dict
    file: str  # where the sweep that runs it looks for an earlier Record
    marks: dict

    def in_words(self):
        what = self.marks["what"]
        place = what if what == "memory" else f"{what}, round {self.marks['round'] + 1}"
        return f"{place}: {self.case.name}" + (", again" if "again" in self.marks else "")


def cells_of(options, tokens):
    """Every cell, in the order in which they run."""
    is_card = not options.device.startswith("virtual:")
    steps = {"warmup-steps": "3", "measure-steps": "10"} if is_card else \
            {"warmup-steps": "1", "measure-steps": "1"}
    cases = [case for case in CASES if options.compiled or not case.is_compiled]
    for case in cases:
        yield Cell(case, {"model-size": options.model_size, "device": options.device,
                          "context-length": options.context_length, **steps},
                   "memory.jsonl", {"what": "memory"})
    small = {**SMALL, "tokens": tokens, "warmup-steps": str(WARMUP),
             "measure-steps": str(STEPS - WARMUP)}
    for turn in range(options.rounds):
        for case in cases:
            yield Cell(case, small, f"round_{turn}.jsonl", {"what": "time", "round": turn})
        # The first again: what a ratio of equal steps is.
        yield Cell(CASES[0], small, f"round_{turn}_again.jsonl",
                   {"what": "time", "round": turn, "again": True})
        for case in (one for one in cases if options.compiled and not one.is_compiled):
            yield Cell(case, {**small, "kernels": "compiled"}, f"round_{turn}_compiled.jsonl",
                       {"what": "compiled time", "round": turn})


def lacks_bf16(record):
    """True on an x86 CPU without AVX-512: libtorch has no fast BF16 products there, and a step with them takes 24
    times as long as one in FP32 (measured on an AMD CPU with AVX2)."""
    return record.get("environment", {}).get("cpu_capability") in ("AVX2", "DEFAULT")


def left_out(cell):
    """The Record of a time that would measure the CPU and not the technique."""
    return {"status": "unsupported", "reason": "this CPU has no BF16 products", "technique": cell.case.name, **cell.marks}


def run(headroom, cell, folder):
    """The cell's Record with its marks, or None."""
    command = [headroom, "sweep", "--profile-type", "training", "--format", "jsonl",
               "--records", str(Path(folder, cell.file)), *words_of({**cell.flags, **cell.case.flags})]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sweep:
        try:
            rows, messages = sweep.communicate()
        except BaseException:  # a signal for this script
            sweep.terminate()
            raise
    if sweep.returncode == 130:
        sys.exit(130)
    may_be_refused = cell.case.may_be_refused or cell.marks["what"] == "compiled time"
    if sweep.returncode == REFUSED and may_be_refused:
        say(f"  {cell.case.name}: {messages.strip()}")
        return {"status": "unsupported", "reason": messages.strip(), "technique": cell.case.name, **cell.marks}
    if not rows.strip():
        say(f"  {cell.case.name}: {' '.join(command)}\n{messages.strip()}")
        return None
    record = json.loads(rows.splitlines()[-1])
    record["spec"]["tokens"] = Path(record["spec"]["tokens"]).name  # the rest is this machine's
    if record["status"] != "ok":
        say(f"  {cell.case.name}: {record['status']}: {record['reason']}")
    return {**record, "technique": cell.case.name, **cell.marks}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("headroom")
    parser.add_argument("--records", required=True)
    parser.add_argument("--cells", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--model-size", required=True)
    parser.add_argument("--context-length", default="512")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    folder = Path(options.cells, "techniques")
    cells = list(cells_of(options, str(folder / "text.uint16")))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    folder.mkdir(parents=True, exist_ok=True)
    write_real_text(folder / "text.uint16")
    failed = 0
    is_without_bf16 = False
    began = time.monotonic()
    with open(options.records, "w", encoding="utf-8") as file:
        for number, cell in enumerate(cells):
            eta = f", {(time.monotonic() - began) / number * (len(cells) - number):.0f} s left" if number else ""
            say(f"[{number + 1}/{len(cells)}] {cell.in_words()}{eta}")
            is_time = cell.marks["what"] != "memory"
            is_left_out = is_time and is_without_bf16 and cell.case.uses_bf16
            record = left_out(cell) if is_left_out else run(options.headroom, cell, folder)
            if is_time and record is not None:
                is_without_bf16 |= lacks_bf16(record)
            failed += record is None or record["status"] not in ANSWERS
            if record is not None:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                file.flush()
    return 0 if not failed else 3 if failed < len(cells) else 4


if __name__ == "__main__":
    sys.exit(main())
