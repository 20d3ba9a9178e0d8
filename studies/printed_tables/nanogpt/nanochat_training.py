"""Runs nanochat's pretraining, scripts/base_train.py, where its text, its tokenizer and its tasks are not to be had.

usage: nanochat_training.py CHECKOUT [--NAME=VALUE...]     of the names of base_train.py

Stood in for: the tokenizer, by one of the same number of tokens that reads any text as 1,000 of them; the text; the tasks of the
CORE metric and the samples at the end, whose few sequences need less than a step; the checkpoint and the report.
"""

import os
import runpy
import sys
from types import ModuleType, SimpleNamespace

import torch

VOCABULARY = 65_536
TOKENS_OF_A_TEXT = 1_000
TEXTS_OF_A_GROUP = 128


class Tokenizer:
    def get_vocab_size(self):
        return VOCABULARY

    def get_bos_token_id(self):
        return 0

    def encode(self, texts, prepend=None, num_threads=1):
        return [[prepend, *range(1, TOKENS_OF_A_TEXT)] for _ in texts]

    def decode(self, tokens):
        return ""

    def __call__(self, text, prepend=None):
        return [0]


class Engine:
    def __init__(self, model, tokenizer):
        pass

    def generate_batch(self, *_, **__):
        return [[]], None


def groups_of_texts(**_):
    while True:
        yield TEXTS_OF_A_GROUP * [""]


def stand_in(name, **what):
    module = ModuleType(name)
    vars(module).update(what)
    sys.modules[name] = module


def main(words):
    if not words:
        print(__doc__, file=sys.stderr)
        return 2
    checkout, *flags = words
    os.chdir(checkout)
    sys.path.insert(0, checkout)
    stand_in("wandb")
    stand_in("nanochat.tokenizer", get_tokenizer=Tokenizer,
             get_token_bytes=lambda device="cpu": torch.ones(VOCABULARY, dtype=torch.int64, device=device))
    stand_in("nanochat.dataset", parquets_iter_batched=groups_of_texts)
    stand_in("nanochat.engine", Engine=Engine)
    stand_in("nanochat.checkpoint_manager", save_checkpoint=lambda *_, **__: None)
    stand_in("nanochat.report", get_report=lambda: SimpleNamespace(log=lambda **_: None))
    stand_in("scripts.base_eval", evaluate_model=lambda *_, **__: {"core_metric": 0.0, "centered_results": {}})
    sys.argv = ["base_train.py", *flags]
    runpy.run_module("scripts.base_train", run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
