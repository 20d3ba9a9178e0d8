#!/usr/bin/env python3
"""Fine-tunes a causal language model with transformers' Trainer: random weights, random tokens.

    python trainer_recipe.py --config config.json --method lora --batch 4 --length 2048 --checkpointing

Needs transformers, peft (lora, qlora) and bitsandbytes (qlora, adamw8bit, paged). It runs on a real card too.
"""

import tempfile

from transformers import Trainer, TrainingArguments
from tuned_model import arguments, make_model, tokens_of, training_arguments


def main():
    args = arguments("Fine-tunes a causal language model with transformers' Trainer.")
    model = make_model(args)
    tokens = tokens_of(model, args)
    with tempfile.TemporaryDirectory() as folder:
        Trainer(
            model, TrainingArguments(folder, **training_arguments(args)),
            train_dataset=[{"input_ids": tokens, "labels": tokens}] * (args.batch * args.steps)).train()


if __name__ == "__main__":
    main()
