#!/usr/bin/env python3
"""Fine-tunes a causal language model with TRL's SFTTrainer: random weights, random tokens.

    python trl_recipe.py --config config.json --method lora --batch 4 --length 2048 --checkpointing

Needs trl, peft (lora, qlora) and bitsandbytes (qlora, adamw8bit, paged). It runs on a real card too.
"""

import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer
from tuned_model import arguments, make_model, optimizer_class, rows_of, training_arguments

ROWS_PACKED = 4  # into a sequence


def main():
    args = arguments("Fine-tunes a causal language model with TRL's SFTTrainer.")
    model = make_model(args)
    words = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1}, unk_token="<pad>"))  # the rows are tokens already
    with tempfile.TemporaryDirectory() as folder:
        SFTTrainer(
            model, args=SFTConfig(folder, max_length=args.length, packing=args.packing, **training_arguments(args)),
            train_dataset=Dataset.from_dict(
                {"input_ids": [row.tolist() for row in rows_of(model, args, ROWS_PACKED if args.packing else 1)]}),
            optimizer_cls_and_kwargs=optimizer_class(args, model),
            processing_class=PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>"),
        ).train()


if __name__ == "__main__":
    main()
