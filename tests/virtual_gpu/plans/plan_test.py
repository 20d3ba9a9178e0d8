#!/usr/bin/env python3
"""A plan's training phase, held against the step itself on a virtual card.

usage: plan_test.py HEADROOM [--draws N] [--wide] [unittest arguments]

--draws: meshes drawn by chance besides those written out (0). --wide: longer lists of cells and meshes.

One model, no generation: the training phase of `headroom rlhf` is the peak of the step, whichever
instant is fullest; on several GPUs that of the fullest rank.
"""

import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "steps"))
from warm_cells import WarmCells  # noqa: E402

HEADROOM = ""
WARM = None
DRAWS = 0
WIDE = False
BATCH = ("--batch-size", "2")
NOT_OF_THE_STEP = ("CUDA context", "NCCL buffers", "TOTAL")
CHECKPOINTS = ("none", "full", "every:2", "blocks:50%", "selective")


def shape(kv_heads, layers=2, vocab_size=64000):
    return (
        "--model-size",
        "custom",
        "--d-model",
        "1024",
        "--d-ff",
        "2816",
        "--layers",
        str(layers),
        "--heads",
        "16",
        "--kv-heads",
        str(kv_heads),
        "--vocab-size",
        str(vocab_size),
    )


def flags(arguments, defaults):
    """Those of the defaults that the arguments do not have, and the arguments."""
    missing = {name: value for name, value in defaults.items() if name not in arguments}
    return [*(word for item in missing.items() for word in item), *arguments]


def run(command, *arguments):
    """Its output, read as JSON."""
    done = subprocess.run([HEADROOM, command, *arguments, "--format", "json"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def axes_of(words):
    """Flags as words, by name; one without a value is true, and of two the last holds."""
    axes = {}
    for word in words:
        if word.startswith("--"):
            name = word.removeprefix("--")
            axes[name] = "true"
        else:
            axes[name] = word
    return axes


def step(*arguments):
    """The Record: of a warm worker, and where there are ranks of `headroom profile`."""
    words = flags(arguments, {
        "--batch-size": "2", "--context-length": "512", "--device": "virtual:h200",
        "--optimizer-impl": "fused", "--profile-type": "training"})
    if "--mesh" in words:
        return run("profile", *words)
    record, = WARM.sweep(**axes_of(words))
    return record


def plan(record, *arguments):
    """The tables, by title."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.jsonl"
        path.write_text(json.dumps(record) + "\n", encoding="utf-8")
        tables = run("rlhf", *flags(arguments, {
            "--batch-size": "2", "--seq-len": "512", "--critic-size": "none",
            "--reward-size": "none", "--reference": "none", "--response-len": "0",
            "--card": "h200", "--records": str(path)}))
    return {table["title"]: table["rows"] for table in tables}


def states(name):
    """Flags of a run that keeps its states as `headroom rlhf --precision` says."""
    return {"bf16-pure": ("--param-dtype", "bf16"),
            "bf16-mixed": ("--param-dtype", "bf16", "--master-weights", "fp32")}.get(
                name, ("--precision", name))


# precision, attention, checkpoint, optimizer, its implementation, words of the vocabulary, batch.
# Many words: the loss is fullest; few: the middle of backward; few tokens: the update.
BACKWARD_BEGINS, IN_BACKWARD, IN_UPDATE = (64000, 4), (1000, 4), (1000, 1)
CELLS = [
    *(("fp32", "eager", checkpoint, "adamw", "fused", *IN_BACKWARD) for checkpoint in CHECKPOINTS),
    *(("bf16", "sdpa", checkpoint, "adamw", "fused", *IN_BACKWARD) for checkpoint in CHECKPOINTS),
    *(("bf16-mixed", "eager", checkpoint, "adamw", "fused", *IN_BACKWARD)
      for checkpoint in CHECKPOINTS),
    *((precision, "sdpa", "full", "adamw", implementation, *IN_UPDATE)
      for precision in ("fp32", "bf16", "bf16-mixed", "bf16-pure")
      for implementation in ("reference", "foreach", "fused")),
    *(("bf16", "sdpa", "none", *optimizer, *IN_UPDATE)
      for optimizer in (("sgd", "foreach"), ("lion", "reference"), ("lion", "foreach"),
                        ("adam8bit", "reference"), ("adam-mini", "reference"))),
    ("bf16-pure", "sdpa", "none", "adamw", "fused", *BACKWARD_BEGINS),
    ("fp16", "eager", "selective", "adamw", "fused", *BACKWARD_BEGINS),
]


# Model, layout, sequences of a replica (each a micro-batch), how its states are kept, the rest.
LARGE = ("--model-size", "7b")
MESHES = [
    (shape(4, layers=3), {"dp": 3}, 2, "bf16", ("--zero", "1")),
    (shape(4, layers=4, vocab_size=1001), {"tp": 4}, 1, "bf16-pure", ("--sequence-parallel",)),
    (shape(4, layers=5), {"pp": 2, "dp": 2}, 4, "bf16-mixed", ("--zero", "2")),
]
WIDE_MESHES = [
    (LARGE, {"dp": 8}, 2, "bf16-mixed", ("--zero", "3", "--recompute", "full")),
    (shape(4), {"dp": 2}, 1, "fp32", ()),
    (LARGE, {"dp": 8}, 1, "bf16-mixed", ()),
    (LARGE, {"dp": 8}, 1, "bf16-mixed", ("--zero", "1", "--recompute", "full")),
    (LARGE, {"tp": 2, "pp": 2, "dp": 2}, 4, "bf16-mixed", ("--zero", "1", "--sequence-parallel")),
]


def draw_mesh(draw):
    """Of a row of MESHES its like, by chance."""
    layout = {axis: draw.choice(sizes) for axis, sizes in
              (("tp", (1, 1, 2, 4)), ("pp", (1, 1, 2, 3)), ("dp", (1, 2, 3, 4, 8)))}
    if math.prod(layout.values()) == 1:
        layout["dp"] = 2
    model = draw.choice((("--model-size", "small"),
                         shape(4, draw.randint(3, 6), draw.choice((1000, 32001)))))
    setting = ["--recompute", draw.choice(CHECKPOINTS[:4])]
    if layout["dp"] > 1:
        setting += ["--zero", str(draw.randrange(4))]
    if layout["tp"] > 1 and draw.random() < 0.5:
        setting.append("--sequence-parallel")
    setting += draw.choice(((), ("--optimizer-impl", "reference"), ("--optimizer-impl", "foreach"),
                            ("--optimizer", "adam8bit", "--optimizer-impl", "reference")))
    states_of = draw.choice(("fp32", "bf16", "bf16-mixed", "bf16-pure"))
    return model, layout, draw.choice((1, 2, 4, 6)), states_of, tuple(setting)


class Plan(unittest.TestCase):
    def agree(self, record, tables):
        """Both in bytes, the record's as the allocator hands them out."""
        computed = sum(row["memory_bytes"] for row in tables["Phase: training"]
                       if row["component"] not in NOT_OF_THE_STEP)
        measured = record["peak_allocated_bytes"]
        self.assertLess(abs(measured - computed) / measured, 1e-3, f"{computed}, {measured}")

    def how(self, tables):
        title = next(title for title in tables if title.startswith("RLHF memory timeline"))
        return next(row for row in tables[title] if "training phase" in row.values())

    def test_on_one_gpu_it_is_the_peak_whichever_instant_is_fullest(self):
        phases = set()
        cells = CELLS if WIDE else [*CELLS[:-2:5], *CELLS[-2:]]
        for precision, attention, checkpoint, optimizer, implementation, words, batch in cells:
            setting = (*shape(4, layers=3, vocab_size=words), "--attention", attention,
                       "--recompute", checkpoint, "--optimizer", optimizer,
                       "--optimizer-impl", implementation, "--batch-size", str(batch))
            with self.subTest(precision=precision, setting=setting[-10:]):
                record = step(*setting, *states(precision))
                tables = plan(record, *setting, "--precision", precision, "--num-gpus", "1")
                phases.add((record["peak_phase"], words))
                self.agree(record, tables)
                self.assertIn("rehearsed", str(self.how(tables)))
        self.assertGreaterEqual(
            phases, {("optimizer", 1000), ("backward", 1000), ("backward", 64000)})

    def test_on_one_gpu_a_7b_model_is_too(self):
        """Backward's end is fullest, the update, and again the update where nothing is fused."""
        cells = (("full", "bf16", "fused", "backward"), ("full", "bf16-mixed", "fused", "optimizer"),
                 ("none", "bf16", "reference", "optimizer"))
        for checkpoint, precision, implementation, phase in cells if WIDE else cells[2:]:
            setting = ("--model-size", "7b", "--attention", "sdpa", "--recompute", checkpoint,
                       "--optimizer-impl", implementation, "--batch-size", "1")
            with self.subTest(precision=precision, setting=setting):
                record = step(*setting, *states(precision), "--context-length", "2048",
                              "--device", "virtual:h200,bytes=unlimited")
                self.assertEqual(record["peak_phase"], phase)
                tables = plan(record, *setting, "--precision", precision, "--num-gpus", "1",
                              "--seq-len", "2048")
                self.agree(record, tables)

    def test_on_one_gpu_micro_batches_are_the_steps(self):
        for words, checkpoint in ((1000, "none"), (64000, "full")):
            setting = (*shape(16, vocab_size=words), "--recompute", checkpoint, "--attention",
                       "sdpa", "--precision", "bf16", "--batch-size", "8")
            with self.subTest(words=words):
                record = step(*setting, "--micro-batches", "4")
                self.agree(record, plan(record, *setting, "--micro-batch-size", "2",
                                        "--num-gpus", "1"))

    def test_of_several_gpus_it_is_the_peak_of_the_fullest_rank(self):
        draw = random.Random(20)
        drawn = [draw_mesh(draw) for _ in range(DRAWS)]
        for model, layout, batch, states_of, setting in MESHES + (WIDE_MESHES if WIDE else []) + drawn:
            mesh = ",".join(f"{axis}={size}" for axis, size in layout.items())
            gpus = math.prod(layout.values())
            with self.subTest(mesh=mesh, setting=setting, precision=states_of):
                shared = (*model, "--attention", "sdpa", "--batch-size", str(batch), *setting)
                record = step(*shared, *states(states_of), "--mesh", mesh, "--rank", "distinct",
                              "--micro-batches", str(batch), "--record-steps", "0", "--device",
                              "virtual:h200,bytes=unlimited")
                of_plan = [word for axis, size in layout.items() for word in (f"--{axis}", str(size))]
                tables = plan(record, *shared, "--precision", states_of, "--num-gpus", str(gpus),
                              "--micro-batch-size", "1", *of_plan)
                self.agree(record, tables)
                self.assertIn("rehearsed", str(self.how(tables)))

    def test_states_and_activations_are_those_that_are_measured(self):
        record = step(*shape(4), "--precision", "bf16", "--attention", "sdpa")
        tables = plan(record, *shape(4), "--precision", "bf16", "--attention", "sdpa", "--num-gpus",
                      "2", "--dp", "2")
        rows = tables["Computed, and measured by headroom profile"]
        self.assertEqual(len(rows), 4)
        for row in rows:
            self.assertLessEqual(abs(row["computed_bytes"] - row["measured_bytes"]), 256, row)

    def test_a_forward_holds_what_theory_says(self):
        cells = list(itertools.product(("fp32", "bf16"), ("eager", "sdpa"), (16, 4)))
        for precision, attention, kv_heads in cells if WIDE else cells[::3]:
            setting = (*shape(kv_heads), "--precision", precision, "--attention", attention)
            with self.subTest(setting=setting[-4:], kv_heads=kv_heads):
                record = step("--profile-type", "forward", *setting)
                temporaries = record["categories_at_peak_bytes"]["temporaries"]
                theory = run("theory", *BATCH, "--context-length", "512", "--profile-type", "forward", *setting)
                rows = {row["quantity"]: row for table in theory for row in table["rows"] if "quantity" in row}
                self.assertEqual(rows["temporaries of a forward without gradients"]["forward_bytes"], temporaries)


if __name__ == "__main__":
    HEADROOM = os.path.abspath(sys.argv.pop(1))
    if "--draws" in sys.argv:
        at = sys.argv.index("--draws")
        DRAWS = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    if "--wide" in sys.argv:
        WIDE = True
        sys.argv.remove("--wide")
    with WarmCells(HEADROOM) as WARM:
        unittest.main()
