"""The training steps whose peaks peak_test.py holds: each technique alone, and drawn by chance."""

CARDS = ("h200", "h100-80gb", "b200", "a100-80gb", "rtx4090")

# What is drawn: a technique whose peak is predicted joins here, and in TECHNIQUES.
DRAWN = {
    "precision": ("fp32", "tf32", "bf16", "fp16", "fp8"),
    "attention": ("eager", "eager", "eager", "sdpa", "sdpa", "math", "flash", "efficient", "cudnn"),
    "optimizer": ("adamw", "adamw", "sgd", "lion", "adam8bit", "adam-mini"),
    "optimizer_impl": ("reference", "foreach", "fused"),
    "weights": ("fp32", "fp32", "bf16"),
    "master_weights": ("none", "fp32"),
    "rounding": ("nearest", "stochastic"),
    "max_grad_norm": ("0", "0", "1"),
    "release_gradients": ("false", "false", "true"),
    "optimizer_offload": ("none", "none", "none", "none", "cpu", "nvme:."),
    "param_offload": ("none", "none", "none", "none", "cpu", "nvme:."),
}
OFFLOADS = {"optimizer_offload": "none", "param_offload": "none"}
OF_AN_UPDATE = ("optimizer", "optimizer_impl", "master_weights", "rounding", "max_grad_norm",
                "release_gradients", "optimizer_offload")

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
    {"weights": "bf16"},
    {"weights": "bf16", "master_weights": "fp32"},
    {"weights": "bf16", "master_weights": "fp32", "optimizer_impl": "foreach"},
    {"weights": "bf16", "rounding": "stochastic"},
    {"micro_batches": "2"},
    {"max_grad_norm": "1"},
    {"release_gradients": "true"},
    {"optimizer_offload": "cpu"},
    {"optimizer_offload": "cpu", "weights": "bf16", "master_weights": "fp32"},
    {"optimizer_offload": "cpu", "precision": "bf16", "checkpoint": "full"},
    {"optimizer_offload": "cpu", "checkpoint": "full", "activations": "offload:min=0"},
    {"param_offload": "cpu", "optimizer_offload": "cpu"},
    {"param_offload": "cpu", "optimizer_offload": "cpu", "precision": "bf16"},
    {"param_offload": "cpu", "optimizer_offload": "cpu", "checkpoint": "every:2", "layers": 5},
    {"param_offload": "cpu", "optimizer_offload": "cpu", "weights": "bf16",
     "master_weights": "fp32", "checkpoint": "full", "activations": "offload:min=0", "layers": 6},
    {"param_offload": "cpu", "optimizer_offload": "cpu", "precision": "fp8"},
    {"param_offload": "nvme:.", "optimizer_offload": "nvme:.", "checkpoint": "full", "layers": 5},
    {"optimizer_offload": "cpu", "precision": "fp16", "max_grad_norm": "1"},
    {"optimizer_offload": "cpu", "micro_batches": "2"},
    {"optimizer_offload": "cpu", "max_grad_norm": "1"},
    {"optimizer_offload": "cpu", "weights": "bf16", "master_weights": "fp32",
     "micro_batches": "4", "max_grad_norm": "1"},
)

CHECKPOINTS = ("full", "every:3", "blocks:50%", "selective")
ACTIVATIONS = ("int8", "fp8:block=100,min=0")
KEPT = ([{"checkpoint": c} for c in CHECKPOINTS] + [{"activations": a} for a in ACTIVATIONS] +
        [{"checkpoint": c, "activations": a} for c in CHECKPOINTS[2:] for a in ACTIVATIONS])
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
                "measure_steps": 1, "checkpoint": "blocks:99%"}


def alone(wide):
    for technique in TECHNIQUES:
        yield of_an_update(technique)
    yield TWO_INSTANTS
    yield from of_what_is_kept(wide)
    yield from of_fp8_products(wide)


def draw_shape(draw):
    """As small as an exercise's or as large as GPT-2: workspaces weigh most, or least.

    Half of them in multiples of 16, as FP8 products want.
    """
    unit = draw.choice((1, 16))
    head = draw.choice((16, 32, 64) if unit == 16 else (8, 16, 32, 64))
    heads = draw.choice((1, 2, 4, 8, 12))
    kv_heads = draw.choice([groups for groups in (1, 2, 3, 4, 6, 8, 12) if heads % groups == 0])
    return {"model_size": "custom", "heads": heads, "kv_heads": draw.choice((heads, kv_heads)),
            "d_model": heads * head, "d_ff": unit * draw.randrange(64 // unit, 3200 // unit),
            "layers": draw.randrange(1, 9), "vocab_size": draw.randrange(50, 12000),
            "batch_size": draw.randrange(1, 9),
            "context_length": unit * draw.randrange(1, 400 // unit)}


def draw_named(draw):
    size = draw.choice(("small", "medium", "large", "xl", "2.7B"))
    most = {"small": 1024, "medium": 1024, "large": 512, "xl": 512, "2.7B": 512}[size]
    return {"model_size": size, "batch_size": draw.randrange(1, 5),
            "context_length": draw.choice([c for c in (64, 128, 200, 256, 512, 1024) if c <= most])}


def draw_kept(draw, run):
    """What becomes of what autograd saves."""
    groups = [f"every:{n}" for n in (1, 2, 3) if n <= run.get("layers", 3)]
    checkpoints = ("full", "selective", f"blocks:{draw.randrange(0, 101)}%", draw.choice(groups))
    activations = (draw.choice(("int8", "fp8")) +
                   draw.choice(("", ":min=0", f":block={draw.randrange(8, 2000)}")))
    offloaded = (draw.choice(("offload", "offload-int8")) +
                 draw.choice(("", ":min=0", f":min={draw.randrange(1, 200)}KiB")))
    return {"checkpoint": draw.choice(("none", "none", *checkpoints)),
            "activations": draw.choice(("exact", "exact", activations, offloaded))}


def is_offloaded(cell):
    """Whether something of it lies on the host, or on a disk."""
    sent = cell["activations"].startswith("offload") and cell["profile_type"] != "forward"
    return sent or any(cell.get(name, at_rest) != at_rest for name, at_rest in OFFLOADS.items())


def draw_run(draw, named):
    """A model, a card and what a step does there."""
    cell = draw_named(draw) if named else draw_shape(draw)
    cell["device"] = "virtual:" + ("h200" if named else draw.choice(CARDS))
    cell["profile_type"] = draw.choices(
        ("training", "forward-backward", "forward-grad", "forward"), (9, 2, 2, 1))[0]
    cell["warmup_steps"] = draw.choice((0, 1, 5))
    cell["measure_steps"] = draw.choice((1, 2, 10))
    return cell


def draw_settings(draw, run):
    """Of DRAWN and of what is kept; the commonest contradictions are not among them."""
    cell = {**run, **draw_kept(draw, run)}
    for name, values in DRAWN.items():
        if name not in OF_AN_UPDATE or cell["profile_type"] == "training":
            cell[name] = draw.choice(values)
    if cell["weights"] == "bf16":
        cell["precision"] = "fp32"
    if cell["profile_type"] in ("training", "forward-backward"):
        parts = [n for n in (1, 1, 2, 4) if cell["batch_size"] % n == 0]
        cell["micro_batches"] = draw.choice(parts)
    if cell["profile_type"] != "training":
        return cell
    if cell["param_offload"] != "none" and cell["optimizer_offload"] == "none":
        cell["optimizer_offload"] = draw.choice(("cpu", "nvme:."))
    if cell["optimizer_offload"] != "none":
        cell.update(optimizer="adamw", optimizer_impl="reference", master_weights="fp32",
                    release_gradients="false")
        if cell["precision"] == "fp16" and cell["optimizer_offload"] != "cpu":
            cell["precision"] = "bf16"
    if cell["weights"] == "fp32":
        cell["master_weights"] = "none"
    if cell["weights"] == "fp32" or cell["master_weights"] == "fp32":
        cell["rounding"] = "nearest"
    if cell["optimizer"] in ("adam8bit", "adam-mini"):
        cell["optimizer_impl"] = "reference"
    if cell["release_gradients"] == "true":
        cell["max_grad_norm"], cell["micro_batches"] = "0", 1
    return cell
