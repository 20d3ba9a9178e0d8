#!/usr/bin/env python3
"""Fine-tunes a causal language model with transformers' Trainer: random weights, random tokens.

    python trainer_recipe.py --config config.json --method lora --batch 4 --length 2048 --checkpointing

Needs transformers, peft (lora, qlora) and bitsandbytes (qlora, adamw8bit, paged). It runs on a real card too.
"""

import tempfile

from transformers import DataCollatorWithFlattening, Trainer, TrainingArguments
from tuned_model import arguments, make_model, optimizer_class, rows_of, training_arguments


def main():
    args = arguments("Fine-tunes a causal language model with transformers' Trainer.")
    model = make_model(args)
    with tempfile.TemporaryDirectory() as folder:
        Trainer(
            model, TrainingArguments(folder, **training_arguments(args)),
            data_collator=DataCollatorWithFlattening() if args.packing else None,
            train_dataset=[{"input_ids": row, "labels": row} for row in rows_of(model, args)],
            optimizer_cls_and_kwargs=optimizer_class(args, model)).train()


if __name__ == "__main__":
    main()
