"""A model under DeepSpeed's ZeRO and its steps."""

from __future__ import annotations

import deepspeed
import estimator_modules  # noqa: F401
import torch
from llama import Llama
from shapes import shape_of
from torch.nn.functional import cross_entropy


def configuration(stage: int) -> dict:
    """BF16 with FP32 states, DeepSpeed's own sizes of everything else."""
    return {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_clipping": 1.0,
        "bf16": {"enabled": True},
        # DeepSpeed's own Adam is compiled when it is first used, with a compiler of CUDA's.
        "optimizer": {"type": "AdamW", "params": {"lr": 3e-4, "torch_adam": True}},
        "zero_optimization": {"stage": stage},
    }


def train(options, steps: int) -> None:
    shape = shape_of(options)
    config = configuration(int(options.mode.removeprefix("zero")))
    deepspeed.init_distributed()
    # On the card at once: as FP32 on the host a model of 8B would take 30 GiB there.
    with (
        torch.device("cuda"),
        deepspeed.zero.Init(config_dict_or_path=config, enabled=options.mode == "zero3"),
    ):
        model = Llama(shape)
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=config
    )
    for _ in range(steps):
        tokens_BS = torch.randint(0, shape.vocabulary, (1, shape.context), device="cuda")
        loss = cross_entropy(engine(tokens_BS).flatten(0, 1).float(), tokens_BS.flatten())
        engine.backward(loss)
        engine.step()
