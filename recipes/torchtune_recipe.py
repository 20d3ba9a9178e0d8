#!/usr/bin/env python3
"""Fine-tunes a causal language model with torchtune, as its recipes do: random weights, random tokens.

    python torchtune_recipe.py --config config.json --method qlora --batch 4 --length 2048 --checkpointing

Needs torchtune, torchao, and bitsandbytes (adamw8bit, paged). It runs on a real card too.
"""

import importlib
import json
import pathlib
from functools import partial

import torch
from torchtune import modules, training
from torchtune.modules.loss import CEWithChunkedOutputLoss
from torchtune.modules.peft import LoRALinear, get_adapter_params, set_trainable_params
from tuned_model import arguments, make_optimizer

ATTENTION = {"q_proj": "q_proj", "k_proj": "k_proj", "v_proj": "v_proj", "o_proj": "output_proj"}
MLP = {"gate_proj", "up_proj", "down_proj"}
BUILDERS = {"llama": "llama3_2", "mistral": "mistral", "qwen2": "qwen2", "phi3": "phi3"}  # by model_type


def check(args, shape):
    if shape["model_type"] not in BUILDERS:
        raise SystemExit(f"ValueError: torchtune has no model_type {shape['model_type']!r}; it has " + ", ".join(BUILDERS))
    if args.precision == "mixed" or args.attention != "sdpa" or args.packing or args.liger or args.zero:
        raise SystemExit("ValueError: torchtune has no --precision mixed, --attention eager, --packing, --liger, --zero")


def lora_settings(args):
    """Names of --targets are those of transformers."""
    targets = {*ATTENTION, *MLP} if args.targets == "all-linear" else set(args.targets.split(","))
    if targets - {*ATTENTION, *MLP} or targets & MLP not in (set(), MLP):
        raise SystemExit("ValueError: torchtune's --targets: some of q_proj,k_proj,v_proj,o_proj, "
                         "and all of gate_proj,up_proj,down_proj or none")
    return {"lora_attn_modules": [ATTENTION[name] for name in ATTENTION if name in targets],
            "apply_lora_to_mlp": MLP <= targets, "lora_rank": args.rank, "lora_alpha": 2 * args.rank,
            "quantize_base": args.method == "qlora"}


def build(args, shape):
    """torchtune's own builder of this architecture."""
    name = BUILDERS[shape["model_type"]]
    builders = importlib.import_module(f"torchtune.models.{name}._component_builders")
    settings = {
        "vocab_size": shape["vocab_size"], "num_layers": shape["num_hidden_layers"],
        "num_heads": shape["num_attention_heads"], "embed_dim": shape["hidden_size"],
        "num_kv_heads": shape.get("num_key_value_heads", shape["num_attention_heads"]),
        "intermediate_dim": shape["intermediate_size"],
        "max_seq_len": shape["max_position_embeddings"]}
    if name in ("llama3_2", "qwen2"):
        settings["tie_word_embeddings"] = shape.get("tie_word_embeddings", False)
    if args.method == "full":
        return getattr(builders, name)(**settings)
    return getattr(builders, "lora_" + name)(**settings, **lora_settings(args))


def shard(model, args, dtype):
    """FSDP2, by the functions of torchtune's distributed recipes. `model` is on the meta device."""
    training.shard_model(model, shard_conditions=[partial(training.get_shard_conditions, names_to_match=None)],
                         cpu_offload=False)
    device = torch.device("cuda", torch.cuda.current_device())
    with training.set_default_dtype(dtype), device:
        for module in model.modules():
            if isinstance(module, LoRALinear):
                module.to_empty(device=device)
                module.initialize_parameters()
            if hasattr(module, "rope_init"):
                module.rope_init()
    weights = {name: torch.empty(x.shape, dtype=dtype) for name, x in model.state_dict().items() if x.is_meta}
    training.load_from_full_model_state_dict(model, weights, device)


def make_model(args, shape):
    dtype = torch.bfloat16 if args.precision == "bf16" else torch.float32
    with training.set_default_dtype(dtype), torch.device("meta" if args.fsdp else "cuda"):
        model = build(args, shape)
    if args.method != "full":
        set_trainable_params(model, get_adapter_params(model))
    if args.checkpointing:
        training.set_activation_checkpointing(model, auto_wrap_policy={modules.TransformerSelfAttentionLayer})
    if args.fsdp:
        shard(model, args, dtype)
    return model


def main():
    args = arguments("Fine-tunes a causal language model with torchtune.")
    shape = json.loads(pathlib.Path(args.config).read_text())
    check(args, shape)
    if args.fsdp:
        torch.distributed.init_process_group("nccl")
    model = make_model(args, shape)
    optimizer = make_optimizer(args, model, shape["vocab_size"])
    loss_of = CEWithChunkedOutputLoss()
    model.set_num_output_chunks(loss_of.num_output_chunks)
    tokens = torch.randint(0, shape["vocab_size"], (args.batch, args.length), device="cuda")
    ignored = torch.full((args.batch, 1), loss_of.ignore_index, device="cuda")
    for _ in range(args.steps):
        logits = model(tokens)
        loss = loss_of(logits, torch.hstack((tokens[:, 1:], ignored)))
        del logits
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


if __name__ == "__main__":
    main()
