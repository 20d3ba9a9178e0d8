#!/usr/bin/env python3
"""Known values stay known where a Triton kernel only reads them, and become unknown where it may write.

usage: triton_test.py HEADROOM PYTHON
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEADROOM, PYTHON = sys.argv[1:3]
HOOK = Path(__file__).resolve().parents[4] / "virtual_gpu/python_hook"
KERNELS = '''
import torch
import triton
import triton.language as tl


@triton.jit
def positions(lengths, rows, out, n, BLOCK: tl.constexpr):
    row = tl.load(rows + tl.program_id(0))
    end = tl.load(lengths + row)
    for start in range(0, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + row * n + at, at, mask=at < end)


@triton.jit
def add_atomically(x, total):
    tl.atomic_add(total, tl.load(x))


@triton.jit
def store_to_one(a, b, x, n):
    if n > 1:
        target = a
    else:
        target = b
    tl.store(target, tl.load(x))


@triton.jit
def store_after_a_loop(out, n):
    target = out
    while n > 0:
        target += 1
        n -= 1
    tl.store(target, 1)


@triton.jit
def move_along(x, out, n):
    for _ in range(n):
        tl.store(out, tl.load(x))
        x += 1
        out += 1


@triton.jit
def load_from_a_table(table, out):
    tl.store(out, tl.load(tl.load(table).to(tl.pointer_type(tl.int64))))


@triton.jit
def store_by_a_table(table, x):
    tl.store(tl.load(table).to(tl.pointer_type(tl.int64)), tl.load(x))


@triton.jit(noinline=True)
def store_one(out):
    tl.store(out, 1)


@triton.jit
def call(out):
    store_one(out)
'''
COMPILE = KERNELS + '''
import json
from triton.backends.compiler import GPUTarget
from headroom_triton import parameters

found = {}
for name, kernel in list(globals().items()):
    if isinstance(kernel, triton.JITFunction) and name != "store_one":
        kinds = {word: "constexpr" if word == "BLOCK" else "i32" if word == "n" else "*i64" for word in kernel.arg_names}
        source = triton.compiler.ASTSource(fn=kernel, signature=kinds, constexprs={"BLOCK": 64} if "BLOCK" in kinds else {})
        found[name] = parameters(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"])
print(json.dumps(found))
'''
# Reads at the end: the positions are unknown, so zeros.
RUN = KERNELS + '''
lengths, rows = torch.tensor([3, 5]).cuda(), torch.tensor([1, 0]).cuda()
out = torch.tensor([7] * 10).cuda()
positions[(2,)](lengths, rows, out, 5, BLOCK=64)
print(lengths.tolist(), rows.tolist(), out.tolist())
'''


class TritonKernels(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.environment = {**os.environ, "TRITON_CACHE_DIR": str(self.folder / "cache")}

    def run_program(self, text, *before):
        program = self.folder / "program.py"
        program.write_text(text, encoding="utf-8")
        done = subprocess.run([*before, PYTHON, program], capture_output=True, text=True, check=False,
                              env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_each_kernel_has_a_letter_for_each_parameter(self):
        self.environment["PYTHONPATH"] = f"{HOOK}:{HOOK / 'kernels'}"
        self.assertEqual(json.loads(self.run_program(COMPILE)), {
            "positions": "rrwn", "add_atomically": "rw", "store_to_one": "wwrn", "store_after_a_loop": "wn",
            "move_along": "wwn",  # one loop carries both
            "load_from_a_table": "rw", "store_by_a_table": None, "call": None})

    def test_values_that_a_kernel_reads_stay_known(self):
        printed = self.run_program(RUN, HEADROOM, "dryrun", "--card", "h200", "--")
        self.assertEqual(printed.splitlines()[0], f"[3, 5] [1, 0] {[0] * 10}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
