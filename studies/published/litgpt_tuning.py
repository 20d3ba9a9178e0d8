"""Runs fine-tunings of LitGPT where its weights, its tokenizers and its text are not to be had.

usage: litgpt_tuning.py ROWS.jsonl      of a row: "row" (its name), "method" (lora, full, adapter or adapter_v2), "model" (its name
                                        for LitGPT), "length" (tokens of a row of text), "settings" (arguments of setup())
Prints the peak that LitGPT prints, "Memory used", as a JSON line for each row. Each runs in a process of its own.

Stood in for: the checkpoint, by unwritten memory of its shapes and types, or on several cards by the weights of the start; the
tokenizer, by one that makes as many tokens of any text; the rows of text, by as many as two optimizer steps need. The merge of
the adapters at the end is left out.
"""

import importlib
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import datasets
import litgpt.finetune.lora
import litgpt.utils
import torch
from litgpt.args import EvalArgs, TrainArgs
from litgpt.config import Config
from litgpt.data import Alpaca2k
from litgpt.model import GPT
from printed_peaks import STEPS, leave_out, print_peaks

LEFT_OUT = ("check_valid_checkpoint_dir", "copy_config_files", "save_hyperparameters", "save_prompt_style", "merge_lora",
            "save_lora_checkpoint", "save_adapter_checkpoint", "save_adapter_v2_checkpoint")


class Tokenizer:
    bos_id = eos_id = 1

    def __init__(self, checkpoint_dir):
        pass

    def encode(self, text, device=None, bos=None, eos=False, max_length=-1):
        return torch.ones(max_length, dtype=torch.int64, device=device)


def unwritten_checkpoint(config):
    with torch.device("meta"):
        shapes = GPT(config).state_dict()
    return {name: torch.empty(x.shape, dtype=torch.bfloat16) for name, x in shapes.items()}


def stand_in(program, config, rows, held_out, devices):
    datasets.load_dataset = lambda *_, **__: {"train": SimpleNamespace(
        train_test_split=lambda **_: {"train": rows, "test": rows[:held_out]})}
    litgpt.utils.lazy_load = lambda _: unwritten_checkpoint(config)
    program.Tokenizer = Tokenizer
    leave_out(program, LEFT_OUT if devices == 1 else (*LEFT_OUT, "load_checkpoint"), None)


def tune(row):
    program = importlib.import_module(f"litgpt.finetune.{row['method']}")
    config = Config.from_name(row["model"])
    settings = dict(row["settings"])
    if "quantize" in settings:
        sys.modules["triton"] = None  # bitsandbytes 0.42 imports a part of Triton that newer ones lack, and does without
    micro, total = settings.pop("micro_batch_size"), settings.pop("global_batch_size")
    stand_in(program, config, [{"instruction": "", "input": "", "output": ""}] * (total * STEPS), micro,
             settings.get("devices", 1))
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / row["model"]
        checkpoint.mkdir()
        litgpt.utils.save_config(config, checkpoint)
        (checkpoint / "lit_model.pth").write_bytes(b"")
        program.auto_download_checkpoint = lambda **_: checkpoint
        program.setup(
            checkpoint, out_dir=Path(folder) / "out", precision="bf16-true", data=Alpaca2k(num_workers=0),
            train=TrainArgs(save_interval=None, log_interval=1, global_batch_size=total, micro_batch_size=micro,
                            lr_warmup_steps=1, epochs=1, max_steps=STEPS, max_seq_length=row["length"]),
            eval=EvalArgs(interval=100, max_new_tokens=100, max_iters=100), **settings)


def main(words):
    if len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    return print_peaks(words[0], tune)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
