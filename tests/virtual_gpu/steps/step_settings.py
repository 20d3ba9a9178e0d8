"""The settings of a step whose peak theory says, and those that stand together: covered, or drawn."""

from pairwise import obeys, pairwise

CARDS = tuple(f"virtual:{card}" for card in ("h200", "h100-80gb", "b200", "a100-80gb", "rtx4090"))

# A technique whose peak is predicted joins here, and in TECHNIQUES of peak_cells.py.
OF_A_PASS = {
    "precision": ("fp32", "tf32", "bf16", "fp16", "fp8"),
    "param_dtype": ("fp32", "bf16"),
    "attention": ("eager", "sdpa", "math", "flash", "efficient", "cudnn"),
    "micro_batches": (1, 2),
}
# The first value is the default, which steps without an update have.
OF_AN_UPDATE = {
    "optimizer": ("adamw", "sgd", "lion", "adam8bit", "adam-mini"),
    "optimizer_impl": ("reference", "foreach", "fused"),
    "master_weights": ("none", "fp32"),
    "rounding": ("nearest", "stochastic"),
    "max_grad_norm": ("0", "1"),
    "release_gradients": ("false", "true"),
    "optimizer_offload": ("none", "cpu", "nvme:."),
    "param_offload": ("none", "cpu", "nvme:."),
}
OFFLOADS = ("optimizer_offload", "param_offload")

IN_HOST_MEMORY_OR_ON_A_DISK = OF_AN_UPDATE["optimizer_offload"][1:]
RULES = (
    ({"profile_type": ("forward-backward", "forward-grad", "forward")},
     {name: values[:1] for name, values in OF_AN_UPDATE.items()}),
    ({"profile_type": ("forward-grad", "forward")}, {"micro_batches": (1,)}),
    ({"precision": ("fp8",)},
     {"device": [card for card in CARDS if card != "virtual:a100-80gb"]}),
    ({"param_dtype": ("bf16",)}, {"precision": ("fp32",)}),
    ({"param_dtype": ("fp32",)}, {"master_weights": ("none",), "rounding": ("nearest",)}),
    ({"master_weights": ("fp32",)}, {"rounding": ("nearest",)}),
    ({"attention": ("flash", "cudnn"), "param_dtype": ("fp32",)},
     {"precision": ("bf16", "fp16", "fp8")}),
    ({"attention": ("efficient",)}, {"is_grouped": (False,)}),
    ({"optimizer": ("adam8bit", "adam-mini")}, {"optimizer_impl": ("reference",)}),
    ({"optimizer": ("sgd", "lion")}, {"optimizer_impl": ("reference", "foreach")}),
    ({"release_gradients": ("true",)},
     {"max_grad_norm": ("0",), "micro_batches": (1,),
      "precision": ("fp32", "tf32", "bf16", "fp8")}),
    ({"optimizer_offload": IN_HOST_MEMORY_OR_ON_A_DISK},
     {"optimizer": ("adamw",), "optimizer_impl": ("reference",), "release_gradients": ("false",)}),
    ({"optimizer_offload": IN_HOST_MEMORY_OR_ON_A_DISK, "param_dtype": ("bf16",)},
     {"master_weights": ("fp32",)}),
    ({"optimizer_offload": ("nvme:.",)}, {"precision": ("fp32", "tf32", "bf16", "fp8")}),
    ({"optimizer_offload": ("none",)}, {"param_offload": ("none",)}),
)

COVERED = {
    "profile_type": ("training", "forward-backward", "forward-grad", "forward"),
    "warmup_steps": (0, 1, 5),
    "device": CARDS,
    "vocab_size": (64, 6000),
    "context_length": (16, 304),
    "is_grouped": (False, True),
    "recompute": ("none", "full", "every:2", "blocks:50%", "selective"),
    "activations": ("exact", "int8:min=0", "fp8:block=100", "offload", "offload-int8:min=1KiB"),
    **OF_A_PASS,
    **OF_AN_UPDATE,
}


def cell_of(row):
    """The flags of a row: without what is no flag, and without the update where there is none."""
    left_out = {"is_grouped", *(OF_AN_UPDATE if row["profile_type"] != "training" else ())}
    return {name: value for name, value in row.items() if name not in left_out}


def covered():
    """Cells in which every two values of COVERED that may stand together do so once; by card."""
    shape = {"model_size": "custom", "d_model": 128, "d_ff": 320, "heads": 4, "layers": 4,
             "batch_size": 4, "measure_steps": 2}
    for row in sorted(pairwise(COVERED, RULES), key=lambda row: row["device"]):
        yield {**shape, "kv_heads": 2 if row["is_grouped"] else 4, **cell_of(row)}


def is_offloaded(cell):
    """True if a part of it lies on the host, or on a disk."""
    sent = cell["activations"].startswith("offload") and cell["profile_type"] != "forward"
    return sent or any(cell.get(name, "none") != "none" for name in OFFLOADS)


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
    """The form of autograd's saved tensors."""
    groups = [f"every:{n}" for n in (1, 2, 3) if n <= run.get("layers", 3)]
    checkpoints = ("full", "selective", f"blocks:{draw.randrange(0, 101)}%", draw.choice(groups))
    activations = (draw.choice(("int8", "fp8")) +
                   draw.choice(("", ":min=0", f":block={draw.randrange(8, 2000)}")))
    offloaded = (draw.choice(("offload", "offload-int8")) +
                 draw.choice(("", ":min=0", f":min={draw.randrange(1, 200)}KiB")))
    return {"recompute": draw.choice(("none", "none", *checkpoints)),
            "activations": draw.choice(("exact", "exact", activations, offloaded))}


def draw_run(draw, named):
    """A model, a card and what a step does there."""
    cell = draw_named(draw) if named else draw_shape(draw)
    cell["device"] = "virtual:h200" if named else draw.choice(CARDS)
    cell["profile_type"] = draw.choices(COVERED["profile_type"], (9, 2, 2, 1))[0]
    cell["warmup_steps"] = draw.choice((0, 1, 5))
    cell["measure_steps"] = draw.choice((1, 2, 10))
    return cell


def draw_settings(draw, run):
    """Values of every setting that stand together; a share of the micro-batches divides the batch."""
    row = {**run, **draw_kept(draw, run),
           "is_grouped": run.get("kv_heads") != run.get("heads")}
    for name, values in {**OF_A_PASS, **OF_AN_UPDATE}.items():
        may_be = [value for value in values if obeys({**row, name: value}, RULES)]
        if not may_be:
            return draw_settings(draw, run)
        row[name] = draw.choice(may_be)
    if run["batch_size"] % row["micro_batches"]:
        row["micro_batches"] = 1
    return cell_of(row)
