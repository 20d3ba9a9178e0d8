#!/usr/bin/env python3
"""Kernels of CuTe DSL under a dry run: they are not compiled, a launch does nothing, and each is named once. The
compiler is a stand-in with the names of NVIDIA's.

usage: cute_test.py HEADROOM PYTHON
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM, PYTHON = sys.argv[1:3]
COMPILER = """
class CompileCallable:
    def __getitem__(self, options):
        return CompileCallable()

    def __call__(self, *args, **more):
        raise RuntimeError("Got Cuda Runtime Error: cudaErrorNotSupported")
"""
PROGRAM = """
import torch
from cutlass.base_dsl.compiler import CompileCallable

class Norm:
    def __call__(self, x, out):
        raise AssertionError("the kernel's Python ran")

def scale(x):
    raise AssertionError("the kernel's Python ran")

x = torch.ones(4, device="cuda")
compile = CompileCallable()
for kernel in compile(Norm(), x, x), compile["--enable-tvm-ffi"](Norm(), x, x):
    print(kernel(x, x), end=" ")
print(compile(scale, x, options="--opt-level 2")(x))
"""


class CuteKernels(unittest.TestCase):
    def test_they_are_not_compiled_and_named_once(self):
        with tempfile.TemporaryDirectory() as folder:
            module = Path(folder) / "cutlass/base_dsl/compiler.py"
            module.parent.mkdir(parents=True)
            module.write_text(COMPILER, encoding="utf-8")
            program = Path(folder) / "program.py"
            program.write_text(PROGRAM, encoding="utf-8")
            done = subprocess.run([HEADROOM, "dryrun", "--card", "h200", "--", PYTHON, program],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "None None None\n")
        for name in ("Norm", "scale"):
            self.assertEqual(done.stderr.count(f"{name}, a kernel of CuTe DSL, is not compiled"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
