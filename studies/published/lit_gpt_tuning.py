"""Runs fine-tunings of lit-gpt, LitGPT before it was a package, where its weights, its tokenizers and its text are not to be had.

usage: lit_gpt_tuning.py CHECKOUT ROWS.jsonl      ROWS as of litgpt_tuning.py; CHECKOUT: of lit-gpt at 0ecf3cea
Prints the peak that its programs print, "Memory used", as a JSON line for each row. Each runs in a process of its own.

Stood in for: the checkpoint, whose weights stay those of the start; the tokenizer; the text, by one row of the longest length,
which the program takes first, and short rows; the count of floating-point operations, whose packages have moved.
"""

import importlib
import sys
import tempfile
import types
from pathlib import Path

import torch
from printed_peaks import STEPS, leave_out, print_peaks

SHORT = 100  # tokens of most rows of Alpaca
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
    leave_out(program, LEFT_OUT, {})
    files = {"train.pt": text(row["length"]), "test.pt": text(SHORT)}
    program.torch = types.SimpleNamespace(**{**vars(torch), "load": lambda path: files[path.name]})
    with tempfile.TemporaryDirectory() as folder:
        program.setup(Path(folder), Path(folder) / row["model"], Path(folder) / "out", precision="bf16-true")


def main(words):
    if len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    sys.path.insert(0, words[0])
    return print_peaks(words[1], tune)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
