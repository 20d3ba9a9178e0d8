"""Kernels that a program compiles by NVIDIA's CuTe DSL (CUTLASS in Python).

Note [Kernels of CuTe DSL]
Rationale: their launches go through a CUDA runtime that is linked into the compiler's own library, so
  that no stand-in sees them and the first one fails. FlashInfer and FlashAttention 4 have such kernels.
Approach: nothing is compiled, and a launch does nothing; the report names the kernels. Their results are
  zeros, as those of every kernel.
Limits: a launch is not counted. A kernel's workspace is the program's own tensor and is counted.
"""

import sys

import headroom_imports

_told = set()


class _NotRun:
    """In place of a compiled kernel."""

    def __call__(self, *args, **more):
        return None


def _compile_nothing(module):
    def compiled(self, function, *args, **more):
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
        if name not in _told:
            _told.add(name)
            sys.stderr.write(f"headroom dryrun: {name}, a kernel of CuTe DSL, is not compiled\n")
        return _NotRun()

    module.CompileCallable.__call__ = compiled


def answer():
    told = headroom_imports.or_told(_compile_nothing, "kernels of CuTe DSL may fail")
    headroom_imports.change({"cutlass.base_dsl.compiler": told})
