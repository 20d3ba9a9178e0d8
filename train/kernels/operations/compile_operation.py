"""Compiles one of operations.py for C++: operation.so in a folder.

usage: compile_operation.py FOLDER < SETTINGS.json

Sizes stay variable, so that one library serves every tensor; the width of a block is fixed where
the settings give one. The library takes the function's tensors in order and returns nothing.
"""

import inspect
import json
import shutil
import sys
from pathlib import Path

import torch
from torch.export import Dim, export

import operations

LIBRARY_SETTINGS = {"aot_inductor.embed_kernel_binary": True, "cpp.dynamic_threads": True}
LENGTH, BLOCKS, WIDTH = (Dim(name, min=2) for name in ("length", "blocks", "width"))

TYPES = {"codes": "code_type", "numbers": "number_type"}  # those that the settings give
BYTES = ("m", "v")  # of 8-bit moments
TABLES = ("values", "middles", "positive", "positive_middles")
ONE_PER_BLOCK = ("denominator", "m_scale", "v_scale", "scales")


def dtype_of(name, settings):
    if name in TYPES:
        return getattr(torch, settings[TYPES[name]])
    if name in BYTES and settings["operation"].startswith("adam8bit"):
        return torch.uint8
    return {"random_bits": torch.int32, "rounded": torch.bfloat16}.get(name, torch.float32)


def example(argument, settings):
    """A tensor for the argument, and which of its sizes vary."""
    name, device, width = argument.name, settings["device"], settings["width"]
    if argument.kind is argument.KEYWORD_ONLY:
        return torch.tensor(0.5, dtype=torch.float64), None
    if name in TABLES:
        return torch.zeros(256 - name.endswith("middles"), device=device), None
    dtype = dtype_of(name, settings)
    if width is None:
        return torch.zeros(4096, dtype=dtype, device=device), {0: LENGTH}
    if name in ONE_PER_BLOCK:
        return torch.zeros(64, 1, dtype=dtype, device=device), {0: BLOCKS}
    if width == 0:
        return torch.zeros(64, 96, dtype=dtype, device=device), {0: BLOCKS, 1: WIDTH}
    return torch.zeros(64, width, dtype=dtype, device=device), {0: BLOCKS}


class Operation(torch.nn.Module):
    def __init__(self, function, arguments):
        super().__init__()
        self.function = function
        self.numbers = [one.name for one in arguments if one.kind is one.KEYWORD_ONLY]

    def forward(self, *inputs):
        first = len(inputs) - len(self.numbers)
        self.function(*inputs[:first], **dict(zip(self.numbers, inputs[first:], strict=True)))
        return ()


def compile_operation(settings, folder):
    function = getattr(operations, settings["operation"])
    arguments = list(inspect.signature(function).parameters.values())
    made = [example(argument, settings) for argument in arguments]
    inputs = tuple(tensor for tensor, _ in made)
    with torch.no_grad():
        program = export(Operation(function, arguments), inputs,
                         dynamic_shapes=(tuple(sizes for _, sizes in made),))
        torch._inductor.aot_compile(program.module(), inputs, options={
            **LIBRARY_SETTINGS, "aot_inductor.output_path": str(folder / "operation.so")})
    for left in folder.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
        elif left.suffix != ".so":
            left.unlink()


if __name__ == "__main__":
    compile_operation(json.load(sys.stdin), Path(sys.argv[1]))
