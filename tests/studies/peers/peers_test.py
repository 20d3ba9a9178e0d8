"""The Python peers against the baselines, and the comparison with a stand-in for headroom."""

from __future__ import annotations

import array
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PEERS = ROOT / "studies/peers"
BASELINES = ROOT / "tests/baselines"
sys.path[:0] = [str(PEERS), str(BASELINES)]

import compare  # noqa: E402
import make_baselines  # noqa: E402
import torch  # noqa: E402
from comparison import Cell, Line, loss_error, loss_problems, table  # noqa: E402
from eager_reference import EagerReference  # noqa: E402
from measure import run_step  # noqa: E402
from safetensors_file import load, save  # noqa: E402
from sdpa_fused import SdpaFused  # noqa: E402
from workload import DIMENSIONS, Batch, TokenStream, make_parser, parse  # noqa: E402

BASELINE_CASES = json.loads((BASELINES / "baselines.json").read_text())["cases"]
CASES = [case for case in BASELINE_CASES if not case["shape"].get("qk_norm")]  # layers that no peer has
DIMENSION_FLAGS = {name: f"--{name.replace('_', '-')}" for name in DIMENSIONS}
# Takes the flags of `headroom profile`; the arithmetic is the eager peer's.
STAND_IN = """#!{python}
import os, shutil, subprocess, sys
flags = dict(zip(sys.argv[2::2], sys.argv[3::2]))
if "--save-weights" in flags:
    shutil.copy({weights!r}, flags["--save-weights"])
    print('{{"status": "ok", "step_ms": [1.0], "losses": []}}')
elif "{behaviour}" == "honest":
    for name in ("--record-steps", "--format"):
        flags.pop(name)
    words = [word for pair in flags.items() for word in pair]
    sys.exit(subprocess.call([{python!r}, {eager!r}, *words]))
elif "{behaviour}" == "wrong":
    print('{{"status": "ok", "step_ms": [1.0], "losses": [%d.0]}}' % os.getpid())
else:
    print("no memory left", file=sys.stderr)
    sys.exit(4)
"""


def dimension_flags(case: dict) -> list[str]:
    flags = [(DIMENSION_FLAGS[name], str(case["shape"][name])) for name in DIMENSIONS]
    return [word for pair in flags for word in pair]


def peer_options(case: dict, precision: str = "fp32"):
    shape = case["shape"]
    flags = dimension_flags(case) + ["--precision", precision, "--learning-rate", "1e-2"]
    flags += ["--batch-size", str(shape["batch_size"])]
    flags += ["--context-length", str(shape["context_length"])]
    return parse(make_parser("test"), flags)


def ten_losses(peer_type, case: dict, precision: str = "fp32"):
    """The losses of a peer on the baseline's batch, and the peer."""
    options = peer_options(case, precision)
    peer = peer_type(options, load(BASELINES / case["weights_file"]))
    expected = load(BASELINES / case["expected_file"])
    batch = Batch(expected["tokens"], expected["targets"])
    return [run_step(peer, options, batch).item() for _ in range(10)], peer


class Baselines(unittest.TestCase):
    def test_files_are_what_the_script_makes(self):
        self.assertEqual(make_baselines.check(BASELINES), [])

    def test_files_stay_small(self):
        self.assertLess(sum(path.stat().st_size for path in BASELINES.glob("*.*")), 600_000)


class PeersAgainstBaselines(unittest.TestCase):
    def assert_losses(self, peer_type, precision: str, expected: str, tolerance: float):
        for case in CASES:
            with self.subTest(case=case["shape"]["name"]):
                losses, _ = ten_losses(peer_type, case, precision)
                self.assertLess(loss_error(losses, case[expected]), tolerance)

    def test_eager_losses_in_fp32(self):
        self.assert_losses(EagerReference, "fp32", "losses", 1e-5)

    def test_eager_losses_in_bf16(self):
        self.assert_losses(EagerReference, "bf16", "bf16_losses", 1e-2)

    def test_fused_losses_in_fp32(self):
        self.assert_losses(SdpaFused, "fp32", "losses", 1e-5)

    def test_fused_losses_in_bf16(self):
        self.assert_losses(SdpaFused, "bf16", "bf16_losses", 1e-2)

    def test_every_gradient_of_the_eager_peer(self):
        for case in CASES:
            options = peer_options(case)
            options.profile_type = "forward-backward"
            expected = load(BASELINES / case["expected_file"])
            peer = EagerReference(options, load(BASELINES / case["weights_file"]))
            run_step(peer, options, Batch(expected["tokens"], expected["targets"]))
            for name, parameter in peer.model.named_parameters():
                with self.subTest(case=case["shape"]["name"], tensor=name):
                    gradient = expected[f"gradients.{name}"]
                    error = make_baselines.relative_error(parameter.grad, gradient)
                    self.assertLess(error, 1e-5)


class Inputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_step_k_reads_its_window_and_wraps_around(self):
        stream = TokenStream(torch.arange(10), batch_size=2, context_length=2)
        second = stream.batch(1, "cpu")
        self.assertEqual(second.tokens_BS.tolist(), [[4, 5], [6, 7]])
        self.assertEqual(second.targets_BS.tolist(), [[5, 6], [7, 8]])
        third = stream.batch(2, "cpu")
        self.assertEqual(third.tokens_BS.tolist(), [[8, 9], [0, 1]])
        self.assertEqual(third.targets_BS.tolist(), [[9, 0], [1, 2]])

    def test_saved_tensors_read_back(self):
        tensors = {"a": torch.randn(3, 5), "b": torch.arange(4), "c": torch.ones(2).bfloat16()}
        save(self.folder / "file.safetensors", tensors)
        again = load(self.folder / "file.safetensors")
        self.assertTrue(all(torch.equal(again[name], tensors[name]) for name in tensors))

    def test_a_token_beyond_the_vocabulary_is_refused_in_one_line(self):
        tokens = self.folder / "tokens.bin"
        tokens.write_bytes(array.array("H", [1, 2, 96]).tobytes())
        command = [sys.executable, str(PEERS / "eager_reference.py"), *dimension_flags(CASES[0])]
        done = subprocess.run([*command, "--tokens", str(tokens)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(done.stdout, "")


class Comparison(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compare(self, behaviour: str, peers: str) -> subprocess.CompletedProcess:
        program = self.folder / "headroom"
        weights = str(BASELINES / CASES[0]["weights_file"])
        eager = str(PEERS / "eager_reference.py")
        text = STAND_IN.format(
            python=sys.executable, weights=weights, eager=eager, behaviour=behaviour
        )
        program.write_text(text)
        program.chmod(0o755)
        command = [sys.executable, str(PEERS / "compare.py"), "--headroom", str(program)]
        command += ["--peers", peers, "--contexts", "8", "--rounds", "1", "--threads", "1"]
        command += ["--batch-size", "2", "--measure-steps", "1", "--output", str(self.folder)]
        command += ["--", *dimension_flags(CASES[0])]
        environment = os.environ | {"TMPDIR": str(self.folder)}
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    def lines(self) -> list[Line]:
        (path,) = self.folder.glob("*.jsonl")
        return [Line.from_json(text) for text in path.read_text().splitlines()]

    def test_programs_that_agree_get_a_table(self):
        done = self.compare("honest", "eager_reference")
        self.assertEqual(done.returncode, 0, done.stderr)
        arms = [line.arm for line in self.lines()]
        self.assertEqual(arms, ["headroom", "eager_reference", "headroom_again"])
        (report,) = self.folder.glob("*.md")
        self.assertEqual(report.read_text(), done.stdout)
        self.assertIn("| eager_reference |", done.stdout)
        self.assertNotIn(str(self.folder), report.read_text() + json.dumps(self.lines()[0].result))
        self.assertEqual(list(self.folder.glob("headroom-peers-*")), [])

    def test_losses_that_differ_give_no_times(self):
        done = self.compare("wrong", "")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("losses differ", done.stdout)
        self.assertNotIn("ms per step", done.stdout)

    def test_a_program_that_fails_is_a_line_with_its_last_words(self):
        done = self.compare("failing", "")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(self.lines()[0].reason, "exit code 4: no memory left")
        self.assertNotIn("ms per step", done.stdout)

    def test_flags_of_headroom_itself_are_in_its_runs_and_named(self):
        words = ["--headroom", sys.executable, "--ours", "--kernels compiled", "--peers", ""]
        options, _, _ = compare.parse(words)
        first, last = compare.make_arms(options, [])
        self.assertEqual(first.command[-2:], ["--kernels", "compiled"])
        self.assertEqual(first.command, last.command)
        record = {"losses": [1.0], "step_ms": [1.0], "spec": {"kernels": "compiled"}}
        printed = table([Line(Cell("small", 128, "fp32"), 1, "headroom", "", record)])
        self.assertIn("headroom runs with `--kernels compiled`.", printed)

    def test_a_loss_that_is_not_a_number_never_agrees(self):
        cell = Cell("small", 128, "fp32")
        ours = Line(cell, 1, "headroom", "", {"losses": [2.0, 1.0], "step_ms": [1.0]})
        peer = Line(cell, 1, "sdpa_fused", "", {"losses": [2.0, None], "step_ms": [1.0]})
        self.assertEqual(len(loss_problems([ours, peer])), 1)
        self.assertNotIn("ms per step", table([ours, peer]))


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
