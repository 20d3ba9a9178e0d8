"""The model that the recipes train, and their flags. Random weights; to train for real, use `from_pretrained`."""

import argparse

import torch

# Names of transformers' TrainingArguments.
OPTIMIZERS = {"adamw": "adamw_torch_fused", "adamw8bit": "adamw_bnb_8bit", "paged": "paged_adamw_8bit",
              "lion": "lion_32bit", "adafactor": "adafactor", "sgd": "sgd", "muon": "sgd"}  # muon: optimizer_class()

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
    parser.add_argument("--packing", action="store_true", help="several short rows in a sequence, without padding")
    parser.add_argument("--liger", action="store_true", help="Liger's Triton kernels in place of transformers' layers")
    sharding = parser.add_mutually_exclusive_group()
    sharding.add_argument("--fsdp", action="store_true",
                          help="shard the weights over the ranks (FSDP2); start the program by torchrun then")
    sharding.add_argument("--zero", type=int, choices=[2, 3], help="stage of DeepSpeed's ZeRO; by torchrun, too")
    parser.add_argument("--steps", type=int, default=3)
    return parser.parse_args()


def weights_in_4_bits(model, dtype):
    """The linear layers of a checkpoint that bitsandbytes quantized (NF4, double quantization), without values."""
    from bitsandbytes.utils import pack_dict_to_tensor

    weights = {}
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Linear) or module is model.get_output_embeddings():
            continue
        name, blocks = name + ".weight", -(-module.weight.numel() // 64)
        weights[name] = torch.empty(module.weight.numel() // 2 // dtype.itemsize, 1, dtype=dtype)
        weights[name + ".absmax"] = torch.empty(blocks, dtype=torch.uint8)
        weights[name + ".quant_map"] = torch.empty(16)
        weights[name + ".nested_absmax"] = torch.empty(-(-blocks // 256))
        weights[name + ".nested_quant_map"] = torch.empty(256)
        weights[name + ".quant_state.bitsandbytes__nf4"] = pack_dict_to_tensor({
            "quant_type": "nf4", "blocksize": 64, "dtype": str(dtype).removeprefix("torch."),
            "shape": tuple(module.weight.shape), "nested_blocksize": 256, "nested_dtype": "float32",
            "nested_offset": 0.0})
    return weights


def quantized_model(config, dtype, attention, is_sharded):
    """In 4 bits (NF4, double quantization), loaded as from a checkpoint; its tensors take no memory on the host.

    On one card, bitsandbytes quantizes weights of type `dtype`. For several cards, the checkpoint has 4 bits and is loaded
    on the host, and FSDP moves each layer to its card.
    """
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoModelForCausalLM, BitsAndBytesConfig

    with torch.device("meta"):
        shape = AutoModelForCausalLM.from_config(config, dtype=dtype)
    quantization = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True,
                                      bnb_4bit_compute_dtype=dtype, bnb_4bit_quant_storage=dtype if is_sharded else None)
    weights = {name: torch.empty(x.shape, dtype=dtype) for name, x in shape.named_parameters()}  # tied ones once
    if is_sharded:
        config.quantization_config = quantization.to_dict()
        weights |= weights_in_4_bits(shape, dtype)
    return MODEL_FOR_CAUSAL_LM_MAPPING[type(config)].from_pretrained(
        None, config=config, state_dict=weights, dtype=dtype, attn_implementation=attention,
        device_map={"": "cpu" if is_sharded else torch.cuda.current_device()},
        quantization_config=None if is_sharded else quantization)


def make_model(args):
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(args.config)
    dtype = torch.bfloat16 if args.precision == "bf16" else torch.float32
    if args.method == "qlora":
        model = quantized_model(config, dtype, args.attention, args.fsdp)
    else:
        with torch.device("cpu" if args.fsdp or args.zero else "cuda"):  # their shards move
            model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=args.attention)
    model.config.use_cache = False
    if args.method == "full":
        return model
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    if args.method == "qlora" and not args.fsdp:  # trl leaves it out, too: the table of tokens stays in 16 bits
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=args.checkpointing)
    targets = args.targets if args.targets == "all-linear" else args.targets.split(",")
    return get_peft_model(model, LoraConfig(r=args.rank, lora_alpha=2 * args.rank, target_modules=targets,
                                            task_type="CAUSAL_LM"),
                          autocast_adapter_dtype=not args.fsdp)  # FSDP gathers weights of one type together


class MuonAndAdamW(torch.optim.Optimizer):
    """Muon for matrices; AdamW for the table of tokens, the head and everything else."""

    def __init__(self, params, lr, vocabulary):
        super().__init__(params, {"lr": lr})
        every = [p for group in self.param_groups for p in group["params"]]
        matrices = {p for p in every if p.ndim == 2 and vocabulary not in p.shape}
        others = [p for p in every if p not in matrices]
        self.parts = [torch.optim.Muon([p for p in every if p in matrices], lr=lr)]
        if others:
            self.parts.append(torch.optim.AdamW(others, lr=lr, fused=True))
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    def step(self, closure=None):
        for part in self.parts:
            part.step()


def optimizer_class(args, model):
    """Of Trainer's argument: None where TrainingArguments names the optimizer."""
    vocabulary = model.config.get_text_config().vocab_size
    return (MuonAndAdamW, {"lr": 1e-3, "vocabulary": vocabulary}) if args.optimizer == "muon" else None


def make_optimizer(args, model, vocabulary):
    """Of a loop of its own."""
    name, parameters = args.optimizer, [p for p in model.parameters() if p.requires_grad]
    if name == "muon":
        return MuonAndAdamW(parameters, lr=1e-3, vocabulary=vocabulary)
    if name == "adamw":
        return torch.optim.AdamW(parameters, fused=True)
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=1e-3)
    if name == "adafactor":
        return torch.optim.Adafactor(parameters)
    import bitsandbytes as bnb

    return {"adamw8bit": bnb.optim.AdamW8bit, "paged": bnb.optim.PagedAdamW8bit, "lion": bnb.optim.Lion32bit}[name](
        parameters, lr=1e-4)


def zero_config(args):
    """Of DeepSpeed. Its optimizer is the one above."""
    return {"zero_optimization": {"stage": args.zero}, "bf16": {"enabled": args.precision != "fp32"},
            "train_micro_batch_size_per_gpu": args.batch, "zero_allow_untested_optimizer": True}


def is_autocast(args):
    """Under FSDP autocast would make FP32 copies of BF16 weights: they stay as they are."""
    return args.precision == "mixed" or (args.precision == "bf16" and not args.fsdp)


def training_arguments(args):
    """Of TrainingArguments and its subclasses."""
    return {"per_device_train_batch_size": args.batch, "max_steps": args.steps, "bf16": is_autocast(args),
            "gradient_checkpointing": args.checkpointing, "optim": OPTIMIZERS[args.optimizer],
            "logging_steps": args.steps, "save_strategy": "no", "report_to": [], "fsdp": args.fsdp or None,
            "fsdp_config": SHARDED if args.fsdp else None, "deepspeed": zero_config(args) if args.zero else None,
            "use_liger_kernel": args.liger}


def rows_of(model, args, parts=1):
    """Random tokens for all steps: each sequence in as many rows."""
    tokens = torch.randint(0, model.config.get_text_config().vocab_size, (args.length // parts,))
    return [tokens] * (args.batch * args.steps * parts)
