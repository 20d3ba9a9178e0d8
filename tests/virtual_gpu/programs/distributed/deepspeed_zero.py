"""Three steps of a transformers Llama under DeepSpeed's ZeRO.

usage: deepspeed_zero.py STAGE [--offload]    1, 2 or 3; --offload: optimizer states on the host
The deepspeed launcher adds --local_rank.
"""

import argparse

import deepspeed
import torch
from transformers import LlamaConfig, LlamaForCausalLM


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("stage", type=int)
    parser.add_argument("--offload", action="store_true")
    parser.add_argument("--local_rank", type=int, default=0)
    options = parser.parse_args()
    optimizer = {"type": "AdamW", "params": {"lr": 3e-4, "torch_adam": True}}
    zero = {"stage": options.stage}
    if options.offload:
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "gradient_clipping": 1.0,
        "bf16": {"enabled": True},
        "optimizer": optimizer,
        "zero_optimization": zero,
        "zero_force_ds_cpu_optimizer": False,
    }
    deepspeed.init_distributed()
    shape = LlamaConfig(
        hidden_size=512, intermediate_size=1408, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=8192,
    )  # fmt: skip
    with deepspeed.zero.Init(config_dict_or_path=config, enabled=options.stage == 3):
        model = LlamaForCausalLM(shape)
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=config
    )
    for _ in range(3):
        tokens = torch.randint(0, 8192, (2, 256), device=engine.device)
        loss = engine(input_ids=tokens, labels=tokens).loss
        engine.backward(loss)
        engine.step()
    if engine.global_rank == 0:
        print(f"{torch.cuda.max_memory_allocated() / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
