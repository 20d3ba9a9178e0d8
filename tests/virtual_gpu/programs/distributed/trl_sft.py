"""TRL's SFTTrainer on a data set in memory, under DDP, as torchrun starts it.

usage: trl_sft.py OUTPUT_DIR
"""

import sys

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer


def tokenizer() -> PreTrainedTokenizerFast:
    words = ["<pad>", "<unk>", "</s>", *(f"word{n}" for n in range(1000))]
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, "<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )


def main() -> None:
    shape = LlamaConfig(
        hidden_size=512, intermediate_size=1408, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=1003,
    )  # fmt: skip
    texts = [" ".join(f"word{(row * 7 + n) % 1000}" for n in range(40 + row)) for row in range(32)]
    settings = SFTConfig(
        output_dir=sys.argv[1] if len(sys.argv) > 1 else "sft",
        per_device_train_batch_size=4,
        max_steps=3,
        max_length=128,
        bf16=True,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
    )
    trainer = SFTTrainer(
        model=LlamaForCausalLM(shape),
        args=settings,
        train_dataset=Dataset.from_dict({"text": texts}),
        processing_class=tokenizer(),
    )
    trainer.train()


if __name__ == "__main__":
    main()
