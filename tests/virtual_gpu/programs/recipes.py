"""The programs behind the recipes of docs/programs/dryrun.md: recipes.py generate | mixtral | training, with transformers;
recipes.py grpo, with TRL, wants no recipe."""

import sys
import tempfile

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


def mixtral_of(**sizes):
    """On the card, of 8 experts that run one after the other, two for each token."""
    config = MixtralConfig(num_local_experts=8, num_experts_per_tok=2, **sizes)
    config._experts_implementation = "eager"
    with torch.device("cuda"):
        return MixtralForCausalLM(config)


def mixtral():
    """Each expert that runs says how many tokens it was given."""
    model = mixtral_of(vocab_size=1000, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                       num_attention_heads=4, num_key_value_heads=2)
    seen = []
    for layer in model.model.layers:
        layer.mlp.experts.act_fn.register_forward_hook(
            lambda _, __, output: seen.append(output.shape[0]))
    ids = torch.ones(2, 64, dtype=torch.long, device="cuda")
    model(ids, labels=ids).loss.backward()
    print("tokens of experts", *seen)


def training():
    """Two steps of a Mixtral all of whose experts have work: their gradients and states are in the peak."""
    model = mixtral_of(vocab_size=8192, hidden_size=512, intermediate_size=1024, num_hidden_layers=4,
                       num_attention_heads=8, num_key_value_heads=4)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 8192, (2, 256), device="cuda")
    for _ in range(2):
        model(ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("peak", torch.cuda.max_memory_allocated())


def grpo():
    """Two steps of 4 completions of 512 tokens; the loss is over all their tokens."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer

    words = {f"w{i}": i for i in range(1000)} | {"<pad>": 1000, "<eos>": 1001, "<unk>": 1002}
    split = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    split.pre_tokenizer = pre_tokenizers.Whitespace()
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=1024, hidden_size=256, intermediate_size=512, num_hidden_layers=2,
        num_attention_heads=4, eos_token_id=1001, pad_token_id=1000))
    with tempfile.TemporaryDirectory() as folder:
        GRPOTrainer(
            model=model, reward_funcs=lambda completions, **_: [float(len(completions))] * 4,
            args=GRPOConfig(output_dir=folder, per_device_train_batch_size=4, num_generations=4,
                            max_completion_length=512, max_steps=2, logging_steps=1, report_to=[],
                            save_strategy="no", bf16=True, disable_tqdm=True),
            train_dataset=Dataset.from_dict({"prompt": ["w1 w2 w3 w4 w5 w6 w7 w8"] * 64}),
            processing_class=PreTrainedTokenizerFast(
                tokenizer_object=split, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"),
        ).train()
    print("peak", torch.cuda.max_memory_allocated())


if __name__ == "__main__":
    programs = {"generate": generate, "mixtral": mixtral, "training": training, "grpo": grpo}
    programs[sys.argv[1]]()
