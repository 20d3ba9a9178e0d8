"""Megatron-core's GPT with its distributed optimizer, in a loop of one's own; no Transformer Engine.

usage: megatron_core.py TENSOR PIPELINE    the rest of the ranks is data parallel
"""

import os
import sys

import torch
from megatron.core import parallel_state
from megatron.core.distributed import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

VOCABULARY, SEQUENCE, MICROBATCH, MICROBATCHES = 2048, 256, 2, 4


def batches():
    while True:
        tokens = torch.randint(0, VOCABULARY, (MICROBATCH, SEQUENCE + 1), device="cuda")
        yield {
            "tokens": tokens[:, :-1].contiguous(),
            "labels": tokens[:, 1:].contiguous(),
            "places": torch.arange(SEQUENCE, device="cuda").expand(MICROBATCH, -1),
        }


def forward_step(data, model):
    batch = next(data)
    losses = model(batch["tokens"], batch["places"], None, labels=batch["labels"])

    def reduced(output):
        loss = output.float().mean()
        return loss, {"loss": loss.detach()}

    return losses, reduced


def main() -> None:
    tensor, pipeline = int(sys.argv[1]), int(sys.argv[2])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    parallel_state.initialize_model_parallel(tensor, pipeline)
    model_parallel_cuda_manual_seed(1)
    config = TransformerConfig(
        num_layers=4, hidden_size=512, num_attention_heads=8, ffn_hidden_size=2048,
        tensor_model_parallel_size=tensor, pipeline_model_parallel_size=pipeline,
        bf16=True, pipeline_dtype=torch.bfloat16,
        params_dtype=torch.bfloat16, gradient_accumulation_fusion=False,
        bias_dropout_fusion=False, masked_softmax_fusion=False, persist_layer_norm=False,
    )  # fmt: skip
    config.finalize_model_grads_func = finalize_model_grads
    model = GPTModel(
        config,
        get_gpt_layer_local_spec(),
        vocab_size=VOCABULARY,
        max_sequence_length=SEQUENCE,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
        parallel_output=True,
    ).cuda()
    model.bfloat16()
    sharded = DistributedDataParallelConfig(
        grad_reduce_in_fp32=True, use_distributed_optimizer=True
    )
    model = DistributedDataParallel(config, sharded, model)
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=3e-4, bf16=True, use_distributed_optimizer=True),
        [model],
    )
    forward_backward = get_forward_backward_func()
    for step in range(3):
        model.zero_grad_buffer()
        optimizer.zero_grad()
        forward_backward(
            forward_step_func=forward_step, data_iterator=batches(), model=[model],
            num_microbatches=MICROBATCHES, seq_length=SEQUENCE,
            micro_batch_size=MICROBATCH, forward_only=False,
        )  # fmt: skip
        was_taken, _, _ = optimizer.step()
        rank = torch.distributed.get_rank()
        print(f"rank {rank}, step {step}, taken {was_taken}, {torch.cuda.max_memory_allocated()}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
