"""Runs a program that trains OPT-13B with DeepSpeed where its weights and nvcc are not to be had.

usage: opt_13b.py STAGE PROGRAM      STAGE: of ZeRO, in place of the one that the program names

Stood in for: the weights, by unwritten memory of their shapes in FP16 (FP32 would be cast on the
host, where it has no room, before it goes to the card); the text, by as many words of one token;
DeepSpeed's compiled Adam, which works in place, by nothing; its compiled flatten and unflatten, by
the functions of torch that they bind. What it flattens on the host and moves to the card is made on
the card.
"""

import runpy
import sys
from types import SimpleNamespace

import deepspeed
import torch
import transformers
from deepspeed.ops.op_builder import builder

SAMPLES, POSITIONS = 128, 2048  # what the program trains on; facebook/opt-13b's config.json
SHAPE = {
    "hidden_size": 5120, "word_embed_proj_dim": 5120, "ffn_dim": 20480, "num_hidden_layers": 40,
    "num_attention_heads": 40, "vocab_size": 50272, "max_position_embeddings": POSITIONS,
}  # fmt: skip


class Samples(list):
    def select(self, numbers):
        return Samples(self[number] for number in numbers)


def load_wikitext(tokenizer, collator, max_length):
    words = torch.ones(max_length, dtype=torch.long)
    return Samples({"input_ids": words, "labels": words} for _ in range(SAMPLES))


def model_of(name):
    shape = transformers.OPTConfig(**SHAPE)
    return transformers.AutoModelForCausalLM.from_config(shape, torch_dtype=torch.float16)


def flatten(tensors):
    if tensors[0].device.type == "cuda":
        return torch._utils._flatten_dense_tensors(tensors)
    count = sum(tensor.numel() for tensor in tensors)
    return torch.empty(count, dtype=tensors[0].dtype, device="cuda")


def stand_in(stage):
    sys.modules["util"] = SimpleNamespace(load_wikitext=load_wikitext)
    transformers.AutoModelForCausalLM.from_pretrained = model_of
    transformers.AutoTokenizer.from_pretrained = lambda name: SimpleNamespace(pad_token=None)
    compiled = SimpleNamespace(
        multi_tensor_adam=lambda *arguments: None,
        flatten=flatten,
        unflatten=torch._utils._unflatten_dense_tensors,
    )
    builder.OpBuilder.load = lambda self, verbose=True: compiled
    initialize = deepspeed.initialize

    def initialize_stage(*, config, **others):
        config["zero_optimization"]["stage"] = stage
        return initialize(config=config, **others)

    deepspeed.initialize = initialize_stage


def main(words):
    if len(words) != 2 or words[0] not in ("2", "3"):
        print(__doc__, file=sys.stderr)
        return 2
    stand_in(int(words[0]))
    sys.argv = words[1:]
    runpy.run_path(words[1], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
