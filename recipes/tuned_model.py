"""The model that the recipes train, and their flags. Random weights; to train for real, use `from_pretrained`."""

import argparse

import torch
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig, AutoModelForCausalLM

# Names of transformers' TrainingArguments.
OPTIMIZERS = {"adamw": "adamw_torch_fused", "adamw8bit": "adamw_bnb_8bit", "paged": "paged_adamw_8bit",
              "lion": "lion_32bit", "adafactor": "adafactor", "sgd": "sgd"}

SHARDED = {"version": 2, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "reshard_after_forward": True,
           "cpu_ram_efficient_loading": True}


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--config", required=True, help="the model's config.json")
    parser.add_argument("--method", choices=["full", "lora", "qlora"], default="lora")
    parser.add_argument("--rank", type=int, default=16, help="of LoRA")
    parser.add_argument("--targets", default="all-linear", help="modules with LoRA, such as q_proj,v_proj")
    parser.add_argument("--batch", type=int, default=1, help="sequences per step and card")
    parser.add_argument("--length", type=int, default=2048, help="tokens per sequence")
    parser.add_argument("--precision", choices=["bf16", "mixed", "fp32"], default="bf16",
                        help="bf16: weights and states too; mixed: FP32 weights under BF16 autocast")
    parser.add_argument("--checkpointing", action="store_true")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--attention", choices=["sdpa", "eager"], default="sdpa")
    parser.add_argument("--fsdp", action="store_true",
                        help="shard the weights over the ranks (FSDP2); start the program by torchrun then")
    parser.add_argument("--steps", type=int, default=3)
    return parser.parse_args()


def quantized_model(config, dtype, attention):
    """In 4 bits (NF4, double quantization), loaded as from a checkpoint; its tensors take no memory on the host."""
    from transformers import BitsAndBytesConfig

    with torch.device("meta"):
        shapes = AutoModelForCausalLM.from_config(config, dtype=dtype).state_dict()
    return MODEL_FOR_CAUSAL_LM_MAPPING[type(config)].from_pretrained(
        None, config=config, state_dict={name: torch.empty(x.shape, dtype=dtype) for name, x in shapes.items()},
        dtype=dtype, attn_implementation=attention, device_map={"": 0},
        quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4",
                                               bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=dtype))


def make_model(args):
    config = AutoConfig.from_pretrained(args.config)
    dtype = torch.bfloat16 if args.precision == "bf16" else torch.float32
    if args.method == "qlora":
        model = quantized_model(config, dtype, args.attention)
    else:
        with torch.device("cpu" if args.fsdp else "cuda"):  # FSDP moves its shards
            model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=args.attention)
    model.config.use_cache = False
    if args.method == "full":
        return model
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    if args.method == "qlora":
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=args.checkpointing)
    targets = args.targets if args.targets == "all-linear" else args.targets.split(",")
    return get_peft_model(model, LoraConfig(r=args.rank, lora_alpha=2 * args.rank, target_modules=targets,
                                            task_type="CAUSAL_LM"),
                          autocast_adapter_dtype=not args.fsdp)  # FSDP gathers weights of one type together


def is_autocast(args):
    """Under FSDP autocast would make FP32 copies of BF16 weights: they stay as they are."""
    return args.precision == "mixed" or (args.precision == "bf16" and not args.fsdp)


def training_arguments(args):
    """Of TrainingArguments and its subclasses."""
    return {"per_device_train_batch_size": args.batch, "max_steps": args.steps, "bf16": is_autocast(args),
            "gradient_checkpointing": args.checkpointing, "optim": OPTIMIZERS[args.optimizer],
            "logging_steps": args.steps, "save_strategy": "no", "report_to": [], "fsdp": args.fsdp or None,
            "fsdp_config": SHARDED if args.fsdp else None}


def tokens_of(model, args):
    """One sequence."""
    return torch.randint(0, model.config.get_text_config().vocab_size, (args.length,))
