"""transformers' generate: ends by its limit on new tokens, on one card or with tensor parallel.

usage: generate.py [--tensor-parallel]
"""

import os
import sys

import torch
import torch.distributed as dist
from transformers import LlamaConfig, LlamaForCausalLM


def main() -> None:
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    shape = LlamaConfig(
        hidden_size=512, intermediate_size=1408, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=8192,
    )  # fmt: skip
    if "--tensor-parallel" in sys.argv:
        dist.init_process_group("nccl")
    model = LlamaForCausalLM(shape).cuda().bfloat16().eval()
    prompt = torch.randint(3, 8192, (2, 16)).cuda()
    for sampled in (False, True):
        made = model.generate(prompt, max_new_tokens=8, do_sample=sampled, pad_token_id=0)
        print("made", tuple(made.shape))
        if made.shape[1] != 24:
            raise SystemExit(f"{made.shape[1] - 16} new tokens, not 8")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
