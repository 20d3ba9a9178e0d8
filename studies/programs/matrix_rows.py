"""The rows of studies/programs/program_matrix.sh: distributed programs as their users start them."""

from __future__ import annotations

from dataclasses import dataclass, field

TORCHRUN = "-m torch.distributed.run --standalone --nproc-per-node {ranks}"


@dataclass(frozen=True)
class Row:
    name: str  # --rows picks by it
    what: str
    program: str  # and its arguments, in tests/virtual_gpu/programs/distributed ({programs})
    ranks: int
    alone: str = ""  # those of the ranks that run, each alone; "" is all of them together
    launcher: str = TORCHRUN  # of ranks together; its arguments to Python
    shown: str = "torchrun"
    needs: tuple[str, ...] = ()  # distributions beside torch
    flags: tuple[str, ...] = ()  # of headroom dryrun
    environment: dict[str, str] = field(default_factory=dict)


TITAN = (
    "-m torchtitan.train --job.config_file {programs}/titan/llama3.toml"
    " --model.hf_assets_path {programs}/titan --training.dataset_path {programs}/titan/data"
)
EXPERTS = TITAN.replace("llama3.toml", "deepseek_v3.toml") + (
    " --debug.moe_force_load_balance --parallelism.expert_parallel_degree {degree}"
)
DEEPSPEED = ("deepspeed", "transformers")
TITANS = ("torchtitan", "datasets")
HUGGING = ("accelerate", "transformers")

ROWS = (
    Row("fsdp2", "FSDP2, BF16 mixed", "fsdp2.py", 2),
    Row("fsdp2-70b", "FSDP2, Llama 70B, 8,192 tokens", "fsdp2.py 70b", 128, "0,127"),
    Row("fsdp2-405b", "FSDP2, Llama 405B, 4,096 tokens", "fsdp2.py 405b", 512, "0,511"),
    Row("ddp", "DDP", "ddp.py", 2),
    Row("ddp-one", "DDP, one rank, nccl", "ddp.py nccl", 1),
    Row("ddp-one-gloo", "DDP, one rank, gloo", "ddp.py gloo", 1),
    Row("tensor", "tensor and sequence parallel, DTensor", "tensor_parallel.py", 2),
    Row("tensor-alone", "tensor parallel 4 x FSDP2 4", "tensor_parallel.py 4", 16, "0,13"),
    Row("pipeline", "pipelining, 1F1B", "pipeline.py", 2),
    Row("pipeline-four", "pipelining, 1F1B", "pipeline.py", 4),
    Row("pipeline-interleaved", "pipelining, interleaved 1F1B", "pipeline.py interleaved", 2),
    Row("pipeline-told", "pipelining, 1F1B, shapes given", "pipeline.py --shapes", 4, "0,2,3"),
    Row("pipeline-alone", "pipelining, 1F1B", "pipeline.py", 4, "0-3"),
    Row("pipeline-last", "pipelining, 1F1B", "pipeline.py", 4, "3"),
    Row("context", "context parallel", "context_parallel.py", 2),
    Row("context-alone", "context parallel", "context_parallel.py", 16, "0,13"),
    Row("zero1", "DeepSpeed ZeRO-1", "deepspeed_zero.py 1", 2, needs=DEEPSPEED),
    Row(
        "zero2", "DeepSpeed ZeRO-2", "deepspeed_zero.py 2", 2, needs=DEEPSPEED,
        launcher="-m deepspeed.launcher.runner --num_gpus {ranks}", shown="deepspeed",
    ),
    Row("zero3", "DeepSpeed ZeRO-3", "deepspeed_zero.py 3", 2, needs=DEEPSPEED),
    Row("zero3-alone", "DeepSpeed ZeRO-3", "deepspeed_zero.py 3", 64, "0,63", needs=DEEPSPEED),
    Row(
        "zero-offload", "DeepSpeed ZeRO-Offload", "deepspeed_zero.py 1 --offload", 2,
        needs=DEEPSPEED,
    ),
    Row(
        "accelerate", "Accelerate and transformers, FSDP2", "accelerate_train.py", 2, needs=HUGGING,
        launcher="-m accelerate.commands.launch --multi_gpu --num_machines 1"
        " --num_processes {ranks} --mixed_precision bf16 --dynamo_backend no",
        shown="accelerate launch",
    ),
    Row(
        "accelerate-alone", "Accelerate and transformers, FSDP2", "accelerate_train.py", 8, "0,7",
        needs=HUGGING,
    ),
    Row("titan", "torchtitan llama3 debugmodel", TITAN, 2, needs=TITANS),
    Row(
        "titan-70b", "torchtitan llama3 70B, 8,192 tokens",
        TITAN + " --model.flavor 70B --training.seq_len 8192", 128, "0,127", needs=TITANS,
    ),
    Row(
        "titan-405b", "torchtitan llama3 405B, 8,192 tokens, tensor parallel 8",
        TITAN + " --model.flavor 405B --training.seq_len 8192"
        " --parallelism.tensor_parallel_degree 8", 512, "0,511", needs=TITANS,
    ),
    Row(
        "titan-experts", "torchtitan deepseek_v3 debugmodel, expert parallel 2",
        EXPERTS.replace("{degree}", "2"), 2, needs=TITANS,
    ),
    Row(
        "titan-experts-alone", "torchtitan deepseek_v3 debugmodel, expert parallel 4",
        EXPERTS.replace("{degree}", "4"), 16, "0,15", needs=TITANS,
    ),
    Row(
        "megatron", "Megatron-core GPT, tensor parallel 2", "megatron_core.py 2 1", 2,
        needs=("megatron-core",),
    ),
    Row(
        "megatron-pipeline", "Megatron-core GPT, pipeline 2", "megatron_core.py 1 2", 2,
        needs=("megatron-core",),
    ),
    Row(
        "megatron-alone", "Megatron-core GPT, tensor 2, pipeline 2, data 2",
        "megatron_core.py 2 2", 8, "0,7", needs=("megatron-core",),
    ),
    Row("trl", "TRL SFTTrainer, DDP", "trl_sft.py", 2, needs=("trl", "transformers", "datasets")),
    Row(
        "generate", "transformers generate, 8 new tokens", "generate.py", 1, launcher="",
        shown="python", needs=("transformers",),
    ),
)  # fmt: skip
