"""What the recipes of docs/dryrun.md are for: recipes.py generate | mixtral, with transformers."""

import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM


def generate():
    config = LlamaConfig(vocab_size=1000, hidden_size=64, intermediate_size=128,
                         num_hidden_layers=2, num_attention_heads=4)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).eval()
    ids = torch.ones(2, 8, dtype=torch.long, device="cuda")
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=64,
                         do_sample=False, pad_token_id=0)
    print("tokens", out.shape[1] - 8)


def mixtral():
    """Each expert that runs says how many tokens it was given."""
    config = MixtralConfig(vocab_size=1000, hidden_size=64, intermediate_size=96,
                           num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                           num_local_experts=8, num_experts_per_tok=2)
    config._experts_implementation = "eager"
    with torch.device("cuda"):
        model = MixtralForCausalLM(config)
    seen = []
    for layer in model.model.layers:
        layer.mlp.experts.act_fn.register_forward_hook(
            lambda _, __, output: seen.append(output.shape[0]))
    ids = torch.ones(2, 64, dtype=torch.long, device="cuda")
    model(ids, labels=ids).loss.backward()
    print("tokens of experts", *seen)


if __name__ == "__main__":
    {"generate": generate, "mixtral": mixtral}[sys.argv[1]]()
