#!/usr/bin/env python3
"""Ten steps in one go, held against five, a checkpoint of them, and five that go on from it: on the
mesh that saved it equal to the bit, on others the same up to the order of sums.

usage: checkpoint_contract_test.py HEADROOM [--wide]
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "parallel"))
sys.path.insert(0, str(HERE.parents[3] / "studies" / "peers"))
import checkpoint_file  # noqa: E402
import safetensors_file  # noqa: E402
import torch  # noqa: E402
from mesh_contract_test import MODEL, WIDE, load, profiled, settings  # noqa: E402

STEPS, SAVED = 10, 5
MEASURED = f"--warmup-steps 0 --measure-steps {STEPS} --record-steps 0 --stacks none"
SEQUENCES = 4  # of a step, of all replicas together

ONE = ""
TP = "--mesh tp=2 --micro-batches 2"
DP = "--mesh dp=2"
STAGES = "--mesh pp=2,tp=2 --micro-batches 2"

# The mesh that saves, and the other meshes that resume.
CASES = {
    "AdamW": ("", f"{DP} --zero 3", [STAGES]),
    "Lion": ("--optimizer lion --learning-rate 1e-4", ONE, [f"{DP} --zero 2"]),
    "SGD with momentum": ("--optimizer sgd", "--mesh pp=2 --micro-batches 2", [DP]),
    "BF16 weights and FP32 masters": ("--param-dtype bf16 --master-weights fp32", f"{DP} --zero 2",
                                      [ONE]),
    "8-bit Adam": ("--optimizer adam8bit --d-model 64", f"{DP} --zero 1", [ONE]),
}
EVERYWHERE = [ONE, DP, f"{DP} --zero 1", f"{DP} --zero 2", f"{DP} --zero 3", TP,
              f"{TP} --sequence-parallel", "--mesh pp=2 --micro-batches 4 --schedule gpipe",
              "--mesh pp=2 --micro-batches 4 --schedule interleaved:2 --layers 5", STAGES,
              f"{STAGES} --sequence-parallel", "--mesh dp=2,tp=2 --zero 3",
              "--mesh pp=2,dp=2 --micro-batches 2 --zero 1", "--mesh dp=4 --zero 2",
              "--mesh pp=2,dp=2,tp=2 --micro-batches 2 --zero 3 --layers 5"]
WIDE_CASES = {
    **{f"AdamW saved on {mesh or 'one rank'}": ("--layers 5", mesh, EVERYWHERE)
       for mesh in (EVERYWHERE[0], EVERYWHERE[4], EVERYWHERE[8], EVERYWHERE[14])},
    "AdamW, fused": ("--optimizer-impl fused", f"{STAGES} --sequence-parallel", [f"{DP} --zero 1"]),
    "foreach": ("--optimizer-impl foreach", f"{DP} --zero 3", [ONE]),
    "Lion, foreach": ("--optimizer lion --learning-rate 1e-4 --optimizer-impl foreach", TP, [ONE]),
    "SGD, fused": ("--optimizer sgd --optimizer-impl fused", f"{DP} --zero 3", [TP]),
    "Adam-mini": ("--optimizer adam-mini", DP, [ONE]),
    "masters, fused": ("--param-dtype bf16 --master-weights fp32 --optimizer-impl fused",
                       f"{DP} --zero 3", [STAGES]),
    "BF16 alone": ("--param-dtype bf16", f"{DP} --zero 1", [ONE]),
    "rounded by chance": ("--param-dtype bf16 --rounding stochastic", ONE, []),
    "rounded by chance, 8-bit Adam": ("--param-dtype bf16 --rounding stochastic --optimizer adam8bit",
                                      f"{DP} --zero 3", []),
    "gradients released": ("--release-gradients --micro-batches 1", ONE, []),
    "gradients released, masters": (
        "--release-gradients --param-dtype bf16 --master-weights fp32 --micro-batches 1", ONE, []),
    "8-bit Adam under tp": ("--optimizer adam8bit --d-model 64", TP, ["--mesh pp=2,tp=2"]),
    "FP16": ("--precision fp16", f"{DP} --zero 1", [ONE]),
    "clipped": ("--max-grad-norm 0.1", f"{DP} --zero 3", [STAGES, ONE]),
    "checkpointing": ("--recompute full", f"{DP} --zero 3", [ONE]),
}


def flags_of(technique, mesh):
    """Every mesh sees the same sequences in a step, in as many sums."""
    flags = settings(MODEL, MEASURED, "--micro-batches 1", mesh, technique)
    axes = dict(part.split("=") for part in flags.get("--mesh", ["dp=1"])[0].split(","))
    replicas = int(axes.get("dp", 1))
    if "--release-gradients" not in flags and "--micro-batches" not in mesh.split():
        flags["--micro-batches"] = [str(max(2 // replicas, 1))]
    flags["--batch-size"] = [str(SEQUENCES // replicas)]
    return flags


class CheckpointContract(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def gone_on(self, saved, technique, mesh):
        """Weights after the last steps, gone on from a checkpoint."""
        flags = flags_of(technique, mesh)
        flags["--measure-steps"] = [str(STEPS - SAVED)]
        flags["--load-checkpoint"] = [str(saved)]
        with tempfile.TemporaryDirectory(dir=self.directory) as directory:
            file = Path(directory) / "weights.safetensors"
            record = profiled(flags, file)
            return record["losses"], {name: one.clone() for name, one in load(file).items()}

    def equal(self, one, other):
        self.assertEqual(one.keys(), other.keys())
        for name, tensor in one.items():
            self.assertTrue(torch.equal(tensor, other[name]), name)

    def check(self, technique, mesh, others):
        flags = flags_of(technique, mesh)
        checkpoints = self.directory / "checkpoints"
        file = self.directory / "weights.safetensors"
        record = profiled({**flags, "--save-checkpoint": [str(checkpoints)],
                           "--save-every": [str(SAVED)]}, file)
        whole = load(file)
        read = checkpoint_file.load(checkpoints)
        skipped = [int(note.split(": ")[1].split()[0]) for note in record["notes"]
                   if note.startswith("optimizer steps skipped")]
        self.assertEqual((read.step, read.updates), (STEPS, STEPS - sum(skipped)))
        self.equal(read.model, whole)
        saved = checkpoints / f"step-{SAVED:08}"
        losses, weights = self.gone_on(saved, technique, mesh)
        self.assertEqual(losses, record["losses"][SAVED:])
        self.equal(weights, whole)
        low = "bf16" in technique or "fp16" in technique
        bound = 2e-3 if low else 1e-5
        of_losses = 2 ** -8 if low else bound  # BF16 itself, with BF16 weights
        for other in others:
            with self.subTest(f"goes on with {other or 'one rank'}"):
                losses, weights = self.gone_on(saved, technique, other)
                for own, there in zip(losses, record["losses"][SAVED:]):
                    self.assertLessEqual(abs(own - there), of_losses * abs(there))
                self.assertEqual(weights.keys(), whole.keys())
                for name, tensor in whole.items():
                    distance = (weights[name].double() - tensor.double()).norm()
                    self.assertLess((distance / tensor.double().norm()).item(), bound, name)

    def test_what_goes_on_ends_as_what_was_never_interrupted(self):
        for name, case in {**CASES, **(WIDE_CASES if WIDE else {})}.items():
            with self.subTest(name), tempfile.TemporaryDirectory(dir=self.directory) as directory:
                self.directory, outer = Path(directory), self.directory
                try:
                    self.check(*case)
                finally:
                    self.directory = outer

    def test_saving_changes_no_number_and_each_rank_writes_what_it_owns(self):
        flags = settings(MODEL, MEASURED, "--measure-steps 4 --batch-size 2 --mesh dp=2 --zero 3")
        plain = self.directory / "plain.safetensors"
        saving = self.directory / "saving.safetensors"
        checkpoints = self.directory / "checkpoints"
        before = profiled(flags, plain)
        record = profiled({**flags, "--save-checkpoint": [str(checkpoints)], "--save-every": ["1"]},
                          saving)
        self.assertEqual(record["losses"], before["losses"])
        self.assertEqual([one["moved_bytes"] for one in record["ranks"]],
                         [one["moved_bytes"] for one in before["ranks"]])
        self.equal(load(saving), load(plain))
        # The newest two, and no element twice.
        self.assertEqual(sorted(one.name for one in checkpoints.iterdir()),
                         ["step-00000003", "step-00000004"])
        newest = checkpoints / "step-00000004"
        shards = sorted(newest.glob("shard-*"))
        self.assertEqual(len(shards), 2)
        sizes = [sum(one.numel() for one in safetensors_file.load(shard).values())
                 for shard in shards]
        parameters = sum(one.numel() for one in load(plain).values())
        self.assertEqual(sum(sizes), 3 * parameters)
        self.assertLess(max(sizes), 0.6 * sum(sizes))
        index = json.loads((newest / checkpoint_file.INDEX).read_text())
        self.assertEqual(index["metadata"]["total_size"], 4 * sum(sizes))

    def test_on_one_rank_a_hub_s_reader_finds_every_weight_by_its_name(self):
        flags = settings(MODEL, MEASURED, "--measure-steps 1 --batch-size 2")
        checkpoints = self.directory / "checkpoints"
        file = self.directory / "weights.safetensors"
        before = profiled(flags, file)
        record = profiled({**flags, "--save-checkpoint": [str(checkpoints)]}, file)
        self.assertEqual(record["peak_allocated_bytes"], before["peak_allocated_bytes"])
        index = json.loads((checkpoints / "step-00000001" / checkpoint_file.INDEX).read_text())
        shards = {name: safetensors_file.load(checkpoints / "step-00000001" / name)
                  for name in set(index["weight_map"].values())}
        for name, tensor in load(file).items():
            self.assertTrue(torch.equal(shards[index["weight_map"][name]][name], tensor), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
