"""Runs fine-tunings of lit-gpt, LitGPT before it was a package, where its weights, its tokenizers and its text are not to be had.

usage: lit_gpt_tuning.py CHECKOUT ROWS.jsonl      ROWS as of litgpt_tuning.py; CHECKOUT: of lit-gpt at 8641822
Prints the peak that its programs print, "Memory used", as a JSON line for each row. Each runs in a process of its own.

Stood in for: the checkpoint, whose weights stay those of the start; the tokenizer; the text, by one row of the longest length,
which the program takes first, and short rows; the count of floating-point operations, whose packages have moved.
"""

import contextlib
import importlib
import io
import json
import os
import re
import sys
import tempfile
import types
from pathlib import Path

import torch

STEPS = 2  # the first makes the optimizer's states
SHORT = 100  # tokens of most rows of Alpaca
PRINTED = re.compile(r"Memory used: ([0-9.]+) GB")
LEFT_OUT = ("check_valid_checkpoint_dir", "load_checkpoint", "lazy_load", "save_lora_checkpoint", "save_adapter_checkpoint",
            "save_adapter_v2_checkpoint")


class Tokenizer:
    def __init__(self, checkpoint_dir):
        pass

    def encode(self, text, device=None):
        return torch.ones(SHORT, dtype=torch.int64, device=device)

    def decode(self, tokens):
        return ""


class Silent:
    def __init__(self, *_, **__):
        pass

    def on_train_batch_end(self, *_, **__):
        pass


def program_of(method):
    monitor = types.ModuleType("lit_gpt.speed_monitor")
    monitor.SpeedMonitorFabric = Silent
    monitor.estimate_flops = monitor.measure_flops = lambda *_: 0
    sys.modules["lit_gpt.speed_monitor"] = monitor
    sys.modules["requests"] = types.ModuleType("requests")  # it downloads the text
    return importlib.import_module(f"finetune.{method}")


def text(longest):
    rows = [torch.ones(count, dtype=torch.int64) for count in (longest, *[SHORT] * 1000)]
    return [{"input_ids": row, "labels": row} for row in rows]


def tune(row):
    program = program_of(row["method"])
    settings = dict(row["settings"])
    micro, total = settings.pop("micro_batch_size"), settings.pop("global_batch_size")
    for name, value in {**settings, "micro_batch_size": micro, "gradient_accumulation_iters": total // micro,
                        "max_iters": STEPS * total // micro, "eval_iters": 1, "Tokenizer": Tokenizer}.items():
        setattr(program, name, value)
    for name in filter(lambda name: hasattr(program, name), LEFT_OUT):
        setattr(program, name, lambda *_, **__: {})
    files = {"train.pt": text(row["length"]), "test.pt": text(SHORT)}
    program.torch = types.SimpleNamespace(**{**vars(torch), "load": lambda path: files[path.name]})
    with tempfile.TemporaryDirectory() as folder:
        program.setup(Path(folder), Path(folder) / row["model"], Path(folder) / "out", precision="bf16-true")


def main(words):
    if len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    sys.path.insert(0, words[0])
    failed = 0
    for row in map(json.loads, Path(words[1]).read_text(encoding="utf-8").splitlines()):
        process = os.fork()
        if process == 0:
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                tune(row)
            print(json.dumps({"row": row["row"], "ours": PRINTED.search(output.getvalue())[1]}), flush=True)
            sys.exit(0)
        failed += os.waitpid(process, 0)[1] != 0
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
