"""The training steps whose peaks peak_test.py holds one by one: each technique alone."""

from step_settings import OF_AN_UPDATE

# Each alone, in a training step.
TECHNIQUES = (
    {},
    {"precision": "bf16"},
    {"precision": "fp16"},
    {"precision": "fp8"},
    {"precision": "fp8", "optimizer_impl": "foreach"},
    {"attention": "flash", "precision": "bf16"},
    {"attention": "sdpa"},
    {"attention": "math", "precision": "bf16"},
    {"attention": "efficient", "precision": "fp16"},
    {"optimizer_impl": "foreach"},
    {"optimizer_impl": "fused"},
    {"optimizer": "sgd"},
    {"optimizer": "lion"},
    {"optimizer": "lion", "optimizer_impl": "foreach"},
    {"optimizer": "adam8bit"},
    {"optimizer": "adam-mini"},
    {"param_dtype": "bf16"},
    {"param_dtype": "bf16", "master_weights": "fp32"},
    {"param_dtype": "bf16", "master_weights": "fp32", "optimizer_impl": "foreach"},
    {"param_dtype": "bf16", "rounding": "stochastic"},
    {"micro_batches": "2"},
    {"max_grad_norm": "1"},
    {"release_gradients": "true"},
    {"optimizer_offload": "cpu"},
    {"optimizer_offload": "cpu", "param_dtype": "bf16", "master_weights": "fp32"},
    {"optimizer_offload": "cpu", "precision": "bf16", "recompute": "full"},
    {"optimizer_offload": "cpu", "recompute": "full", "activations": "offload:min=0"},
    {"param_offload": "cpu", "optimizer_offload": "cpu"},
    {"param_offload": "cpu", "optimizer_offload": "cpu", "precision": "bf16"},
    {"param_offload": "cpu", "optimizer_offload": "cpu", "recompute": "every:2", "layers": 5},
    {"param_offload": "cpu", "optimizer_offload": "cpu", "param_dtype": "bf16",
     "master_weights": "fp32", "recompute": "full", "activations": "offload:min=0", "layers": 6},
    {"param_offload": "cpu", "optimizer_offload": "cpu", "precision": "fp8"},
    {"param_offload": "nvme:.", "optimizer_offload": "nvme:.", "recompute": "full", "layers": 5},
    {"optimizer_offload": "cpu", "precision": "fp16", "max_grad_norm": "1"},
    {"optimizer_offload": "cpu", "micro_batches": "2"},
    {"optimizer_offload": "cpu", "max_grad_norm": "1"},
    {"optimizer_offload": "cpu", "param_dtype": "bf16", "master_weights": "fp32",
     "micro_batches": "4", "max_grad_norm": "1"},
)

CHECKPOINTS = ("full", "every:3", "blocks:50%", "selective")
ACTIVATIONS = ("int8", "fp8:block=100,min=0")
KEPT = ([{"recompute": c} for c in CHECKPOINTS] + [{"activations": a} for a in ACTIVATIONS] +
        [{"recompute": c, "activations": a} for c in CHECKPOINTS[2:] for a in ACTIVATIONS])
# The fullest instant is in a block, and in the softmax of the vocabulary.
IN_BLOCKS = {"vocab_size": 200, "context_length": 300}
IN_LOSS = {"vocab_size": 6000, "context_length": 100}


def of_an_update(technique):
    """Small enough for the update, or long enough for backward, to be what is fullest."""
    context = 16 if set(technique) & set(OF_AN_UPDATE) else 256
    return {"model_size": "small", "layers": 3, "context_length": context, "batch_size": 4,
            "device": "virtual:h200", "profile_type": "training", "warmup_steps": 2,
            "measure_steps": 2, **technique}


SHAPE = {"device": "virtual:h200", "model_size": "custom", "heads": 4, "d_model": 128,
         "d_ff": 320, "layers": 4, "batch_size": 4, "warmup_steps": 1, "measure_steps": 2}


def of_what_is_kept(wide):
    """Each technique of what is kept for backward, alone and with one more."""
    where = [(mode, precision, attention, sizes, micro_batches)
             for mode in ("forward-grad", "forward-backward", "training")
             for precision in ("fp32", "tf32", "bf16", "fp16")
             for attention in ("eager", "sdpa") for sizes in (IN_BLOCKS, IN_LOSS)
             for micro_batches in (1, 2) if micro_batches == 1 or mode != "forward-grad"]
    if not wide:
        where = [w for w in where if w[0] != "forward-grad" and w[3] == IN_BLOCKS]
    for i, techniques in enumerate(KEPT):
        # Each technique in other places, so that few cells meet all of them.
        chosen = where[i % 5::5] if wide else [where[13 * i % len(where)]]
        for mode, precision, attention, sizes, micro_batches in chosen:
            yield {**SHAPE, **sizes, "profile_type": mode, "precision": precision,
                   "attention": attention, "micro_batches": micro_batches, **techniques}
    if wide:  # Parts of a storage, one after another; blocks as large as a storage.
        for activations in ("int8:block=65536", "fp8:block=8", "int8:block=1000"):
            yield {**SHAPE, **IN_BLOCKS, "profile_type": "training", "context_length": 1200,
                   "activations": activations}


def of_fp8_products(wide):
    """With each technique of what is kept; sizes of FP8 products are multiples of 16."""
    where = [(mode, attention, sizes, context, card)
             for mode in ("training", "forward-backward", "forward-grad")
             for attention in ("eager", "sdpa")
             for sizes, context in ((IN_BLOCKS, 304), (IN_LOSS, 112))
             for card in ("h200", "rtx4090")]
    for i, techniques in enumerate(({}, *KEPT)):
        for mode, attention, sizes, context, card in where if wide else [where[7 * i % len(where)]]:
            yield {**SHAPE, **sizes, "context_length": context, "device": f"virtual:{card}",
                   "profile_type": mode, "precision": "fp8", "attention": attention,
                   "micro_batches": 1 if mode == "forward-grad" else 1 + i % 2, **techniques}


# Most is requested in block 0; most is allocated, in blocks that are larger than what they are for,
# where the embedding's gradient is made.
TWO_INSTANTS = {"device": "virtual:h100-80gb", "model_size": "custom", "heads": 12, "kv_heads": 2,
                "d_model": 384, "d_ff": 912, "layers": 6, "vocab_size": 4058, "batch_size": 2,
                "context_length": 96, "profile_type": "forward-backward", "warmup_steps": 1,
                "measure_steps": 1, "recompute": "blocks:99%"}


def alone(wide):
    for technique in TECHNIQUES:
        yield of_an_update(technique)
    yield TWO_INSTANTS
    yield from of_what_is_kept(wide)
    yield from of_fp8_products(wide)
