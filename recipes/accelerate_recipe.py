#!/usr/bin/env python3
"""Fine-tunes a causal language model with a loop of its own under accelerate: random weights, random tokens.

    python accelerate_recipe.py --config config.json --method lora --batch 4 --length 2048 --checkpointing

Needs accelerate, peft (lora, qlora) and bitsandbytes (qlora, adamw8bit, paged). It runs on a real card too.
"""

import torch
from accelerate import Accelerator
from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin
from tuned_model import arguments, is_autocast, make_model, make_optimizer, rows_of, zero_config


def main():
    args = arguments("Fine-tunes a causal language model with a loop of its own under accelerate.")
    if args.packing:
        raise SystemExit("this loop packs nothing: use trainer_recipe.py or trl_recipe.py with --packing")
    sharding = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="transformer_based_wrap", reshard_after_forward=True,
        cpu_ram_efficient_loading=True) if args.fsdp else None
    zero = DeepSpeedPlugin(hf_ds_config=zero_config(args)) if args.zero else None
    accelerator = Accelerator(mixed_precision="bf16" if is_autocast(args) else "no", fsdp_plugin=sharding,
                              deepspeed_plugin=zero)
    model = make_model(args)
    if args.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
        model.enable_input_require_grads()
    if args.liger:
        from liger_kernel.transformers import _apply_liger_kernel_to_instance

        _apply_liger_kernel_to_instance(model.get_base_model() if hasattr(model, "get_base_model") else model)
    model.train()
    optimizer = make_optimizer(args, model, model.config.get_text_config().vocab_size)
    model, optimizer = accelerator.prepare(model, optimizer)
    rows = rows_of(accelerator.unwrap_model(model), args)
    tokens = torch.stack(rows[:args.batch]).to(accelerator.device)
    for _ in range(args.steps):
        accelerator.backward(model(input_ids=tokens, labels=tokens).loss)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
