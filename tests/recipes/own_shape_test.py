#!/usr/bin/env python3
"""--config of our own step: it counts as many parameters as transformers, or names the field that it does not compute.

usage: own_shape_test.py HEADROOM [unittest arguments]       finetune_stacks compares the counts in the files with transformers
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MODELS = Path(__file__).resolve().parents[2] / "recipes/models"
COMPUTED = {"llama-2-7b", "llama-2-13b", "llama-2-70b", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "llama-3.2-1b",
            "llama-3.2-3b", "mistral-7b", "phi-4", "qwen2.5-0.5b", "qwen2.5-1.5b", "qwen2.5-3b", "qwen2.5-7b", "qwen2.5-14b",
            "qwen2.5-32b", "qwen2.5-72b", "qwen3-0.6b", "qwen3-1.7b", "qwen3-4b", "qwen3-8b", "qwen3-14b", "qwen3-32b",
            "smollm2-135m", "tinyllama-1.1b"}
REFUSED = {"phi-3-mini": "sliding_window", "qwen3-30b-a3b": "model_type 'qwen3_moe'", "gemma-2-2b": "model_type 'gemma2'",
           "mixtral-8x7b": "model_type 'mixtral'", "gpt2": "model_type 'gpt2'"}


def asked(config, *others):
    return subprocess.run([HEADROOM, "theory", "--config", config, "--context-length", "128", "--format", "json", *others],
                          capture_output=True, text=True, check=False, timeout=60)


def parameters(answer):
    rows = json.loads(answer)[0]["rows"]
    return next(int(str(row["value"]).replace(",", "")) for row in rows if row["quantity"] == "parameters")


class OwnShape(unittest.TestCase):
    def test_every_shape_has_the_parameters_of_transformers_or_is_refused(self):
        for path in sorted(MODELS.glob("*.json")):
            with self.subTest(path.stem):
                done = asked(path.stem)
                if path.stem in COMPUTED:
                    self.assertEqual(parameters(done.stdout), json.loads(path.read_text())["parameters"])
                else:
                    self.assertEqual(done.returncode, 2, done.stdout[:200])
                    self.assertIn(REFUSED.get(path.stem, "has "), done.stderr)

    def test_a_field_that_is_not_computed_is_named(self):
        plain = json.loads((MODELS / "llama-3.1-8b.json").read_text())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "config.json"
            for field, value in (("attention_bias", True), ("mlp_bias", True), ("hidden_act", "gelu"),
                                 ("partial_rotary_factor", 0.5), ("sliding_window", 4096)):
                with self.subTest(field):
                    path.write_text(json.dumps({**plain, field: value}))
                    self.assertIn(f"{field}", asked(path).stderr)
            path.write_text(json.dumps({name: plain[name] for name in plain if name != "intermediate_size"}))
            self.assertIn("has no field 'intermediate_size'", asked(path).stderr)

    def test_a_window_that_is_switched_off_is_none(self):
        plain = json.loads((MODELS / "qwen2.5-7b.json").read_text())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "config.json"
            for is_on, status in ((False, 0), (True, 2)):
                path.write_text(json.dumps({**plain, "sliding_window": 4096, "use_sliding_window": is_on}))
                self.assertEqual(asked(path).returncode, status)

    def test_a_dimension_beside_the_file_is_refused(self):
        self.assertIn("--layers: '2' is in the file of --config", asked("llama-3.1-8b", "--layers", "2").stderr)
        self.assertIn("--qk-norm: 'true' is in the file of --config", asked("llama-3.1-8b", "--qk-norm").stderr)


if __name__ == "__main__":
    HEADROOM = sys.argv.pop(1)
    unittest.main()
