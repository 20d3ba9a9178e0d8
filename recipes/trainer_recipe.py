#!/usr/bin/env python3
"""Fine-tunes a causal language model with transformers' Trainer: random weights, random tokens.

    python trainer_recipe.py --config config.json --method lora --batch 4 --length 2048 --checkpointing

Needs transformers, peft (lora, qlora) and bitsandbytes (qlora, adamw8bit, paged). It runs on a real card too.
"""

import tempfile

from transformers import Trainer, TrainingArguments
from tuned_model import OPTIMIZERS, SHARDED, arguments, is_autocast, make_model, tokens_of


def main():
    args = arguments("Fine-tunes a causal language model with transformers' Trainer.")
    model = make_model(args)
    tokens = tokens_of(model, args)
    with tempfile.TemporaryDirectory() as folder:
        Trainer(model, TrainingArguments(
            folder, per_device_train_batch_size=args.batch, max_steps=args.steps, bf16=is_autocast(args),
            gradient_checkpointing=args.checkpointing, optim=OPTIMIZERS[args.optimizer], logging_steps=args.steps,
            save_strategy="no", report_to=[], fsdp=args.fsdp or None, fsdp_config=SHARDED if args.fsdp else None),
            train_dataset=[{"input_ids": tokens, "labels": tokens}] * (args.batch * args.steps)).train()


if __name__ == "__main__":
    main()
