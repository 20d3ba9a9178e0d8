"""transformers' GPT-2 or Llama, built from a configuration, one training step in BF16 autocast.

Run by studies/programs/check_wheels.sh; argument: gpt2 or llama. The weights are random: nothing is downloaded.
"""
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

if sys.argv[1] == "gpt2":
    model = GPT2LMHeadModel(GPT2Config())
else:
    model = LlamaForCausalLM(LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16,
        num_key_value_heads=4, vocab_size=32000))
model = model.cuda()
model.gradient_checkpointing_enable()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
tokens = torch.randint(0, 32000, (4, 512), device="cuda")
for _ in range(2):
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(sys.argv[1], sum(p.numel() for p in model.parameters()), torch.cuda.max_memory_allocated())
