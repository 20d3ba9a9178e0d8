#!/usr/bin/env python3
"""The table of scripts/torch_versions.sh, the lists of functions that several wheels need, and the library of a version. No torch."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
for folder in ("scripts/lib/records", "virtual_gpu", "virtual_gpu/python_hook"):
    sys.path.insert(0, str(ROOT / folder))
import headroom_version  # noqa: E402
import make_lists  # noqa: E402
import torch_versions  # noqa: E402

MIB = 1 << 20


def row(torch: str, peak: int, workspaces: int) -> str:
    cell = {"profile_type": "training", "precision": "bf16", "attention": "sdpa", "card": "h200"}
    peaks = {"peak_allocated_bytes": peak * MIB, "peak_reserved_bytes": 4096 * MIB}
    uses = {"parameters": 8 * MIB, "workspaces": workspaces * MIB}
    return json.dumps({"torch": torch, **cell, **peaks, "uses": uses})


class TorchVersions(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def test_a_version_stands_beside_the_base_with_the_use_of_its_difference(self):
        products = torch_versions.workspaces("2.15.0+cu132", "h200", "mm 0 33554432 addmm 1048576 1048576")
        lines = [row("2.15.0+cu132", 1024, 32), row("2.11.0+cu130", 1088, 96), json.dumps(products)]
        file = self.folder / "rows.jsonl"
        file.write_text("\n".join(lines))
        text = torch_versions.table([str(file)])
        self.assertIn("| training | bf16 | sdpa | 1.062 GiB | -64.0 |", text)
        self.assertIn("| training | bf16 | sdpa | 4.000 GiB | 0 |", text)
        self.assertIn("| training | bf16 | sdpa | 2.15.0+cu132 | workspaces -64.0 |", text)
        self.assertIn("| h200 | mm |  | 32.000 |", text)
        self.assertIn("| h200 | addmm |  | 1.000 kept |", text)

    def test_a_list_keeps_the_names_of_other_wheels_until_they_are_defined(self):
        refused, done = self.folder / "refused.inc", self.folder / "done.inc"
        refused.write_text("// head\nREFUSE(cudaOld, 801)\nREFUSE(cublasUsed, 15)\nREFUSE(cudaMade, 801)\n")
        replaced = {"NOT_SUPPORTED": refused, "HEADS": {refused: "refused", done: "done"}}
        for name, value in replaced.items():
            self.addCleanup(setattr, make_lists, name, getattr(make_lists, name))
            setattr(make_lists, name, value)
        new = {refused: ["REFUSE(cudaNew, 801)"], done: ["DONE(cublasUsed)"]}
        texts = make_lists.merged(new, {"cudaMade"})
        self.assertEqual(texts[refused].splitlines()[1:], ["REFUSE(cudaNew, 801)", "REFUSE(cudaOld, 801)"])
        self.assertEqual(texts[done].splitlines()[1:], ["DONE(cublasUsed)"])

    def test_a_library_of_ours_is_of_one_version_of_libtorch(self):
        self.addCleanup(setattr, headroom_version, "__file__", headroom_version.__file__)
        headroom_version.__file__ = str(self.folder / "lib/python_hook/headroom_version.py")
        made = self.folder / "lib/torch-2.15/libone.so"
        made.parent.mkdir(parents=True)
        made.touch()
        new, newer = (types.SimpleNamespace(__version__=text) for text in ("2.15.1+cu132", "2.16.0"))
        self.assertEqual(headroom_version.library(new, "libone.so"), str(made))
        self.assertIsNone(headroom_version.library(newer, "libone.so"))
        self.assertIn("scripts/torch_libraries.sh", headroom_version.missing(newer))


if __name__ == "__main__":
    unittest.main()
