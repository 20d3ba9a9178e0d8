"""Compiles one region of a model for C++: forward.so, backward.so and region.json in a folder.

usage: compile.py FOLDER < SETTINGS.json

torch.compile traces the region (block.py) and its gradients and splits them, here as everywhere; the
two parts then become libraries by AOTInductor instead of Python. Weights are inputs, so that every
block of one shape runs the same libraries. region.json says how the parts fit together:
  inputs, shapes  of forward, in order
  saved   what backward takes before the output's gradient: {"output": i} of forward, with its
          shape, strides and type, the operation that made it and whether it is an activation,
          which techniques of saved tensors transform; or {"input": i}, a view of an input of
          forward, with its offset too
  gradients  forward's inputs that backward returns gradients of, in order of its outputs
"""

import json
import operator
import os
import re
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

# Else torch starts two Pythons that compile the kernels of a region; their start takes longer than ten kernels.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config as functorch_config
from torch._guards import TracingContext
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx_inner, get_cpp_wrapper_config, partition_fn
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.utils import count_tangents
from torch._inductor.virtualized import V

import block as description

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
LOW = {"bf16": torch.bfloat16, "fp16": torch.float16}  # types of autocast
LIBRARY_SETTINGS = {"cpp_wrapper": True, "aot_inductor.embed_kernel_binary": True,
                    "cpp.dynamic_threads": True}


def shapes_of(settings):
    """Shapes of a region's inputs by name, and the names that are no FP tensors with a gradient."""
    b, s, d = (settings[name] for name in ("batch", "context", "d_model"))
    if settings["region"] == "head_loss":
        weights = ((d,), (settings["vocabulary"], d))
        shapes = {"x": (b, s, d), **dict(zip(description.HEAD, weights, strict=True)),
                  "targets": (b, s)}
        return shapes, ("targets",)
    head = d // settings["heads"]
    kv, f = head * settings["kv_heads"], settings["d_ff"]
    weights = ((d, d), (kv, d), (kv, d), (d, d), (f, d), (d, f), (f, d), (d,), (d,))
    shapes = {"x": (b, s, d), **dict(zip(description.BLOCK, weights, strict=True)),
              "cos": (s, head // 2), "sin": (s, head // 2)}
    return shapes, ("cos", "sin")


def inputs_of(settings):
    shapes, constants = shapes_of(settings)
    device, dtype = settings["device"], TYPES[settings["param_dtype"]]
    made = {}
    for name, shape in shapes.items():
        if name == "targets":
            made[name] = torch.zeros(shape, dtype=torch.int64, device=device)
        elif name in constants:
            made[name] = torch.zeros(shape, device=device)
        else:
            made[name] = torch.zeros(shape, dtype=dtype, device=device, requires_grad=True)
    return made


def viewed(node):
    """The tensor that a chain of views begins at."""
    while node.op == "call_function" and getattr(node.target, "is_view", False):
        node = node.args[0]
    return node


def is_cast_of(node, inputs):
    node = viewed(node)
    return node.target is torch.ops.prims.convert_element_type.default and viewed(node.args[0]) in inputs


def without_inputs(forward, names):
    """Drops from forward's outputs the views of its inputs; returns where backward finds each."""
    placeholders = list(forward.graph.find_nodes(op="placeholder"))
    weights = [node for node, name in zip(placeholders, names, strict=True) if name != "x"]
    output = forward.graph.output_node()
    result, *saved = output.args[0]
    kept, places = [result], []
    for node in saved:
        value = node.meta["val"]
        place = {"shape": list(value.shape), "type": str(value.dtype).removeprefix("torch.")}
        if (source := viewed(node)) in placeholders:
            places.append({"input": placeholders.index(source), **place,
                           "strides": list(value.stride()), "offset": value.storage_offset()})
            continue
        # Autograd sees the first of an operation's results; the others are its statistics.
        is_statistic = node.target is operator.getitem and node.args[1] > 0
        made_by = node.args[0] if node.target is operator.getitem else node
        places.append({"output": len(kept), **place, "operation": str(made_by.target),
                       "is_activation": (value.is_floating_point() and not is_statistic
                                         and not is_cast_of(node, weights))})
        kept.append(node)
    output.args = (tuple(kept),)
    forward.recompile()
    return places


@contextmanager
def reported_strides():
    """Fills a list with the strides of a part's outputs; libraries do not report them, as graphs do."""
    strides = []
    generate = GraphLowering.codegen_with_cpp_wrapper

    def report(lowered):
        strides.extend([int(n) for n in out.get_layout().stride] for out in lowered.graph_outputs)
        return generate(lowered)

    with mock.patch.object(GraphLowering, "codegen_with_cpp_wrapper", report):
        yield strides


def compile_part(graph, inputs, library, is_backward):
    """Compiles a part as torch.compile does, into a library; returns the strides of its outputs.

    Outputs that the caller sees (a result, a gradient) have the strides of the graph; what is saved
    for backward has those that suit the kernels.
    """
    output = graph.graph.output_node()
    output.meta["user_visible_output_idxs"] = list(range(len(output.args[0]))) if is_backward else [0]
    lasting = range(count_tangents(graph) if is_backward else 0)
    with (reported_strides() as strides, V.set_aot_compilation(True),
          config.patch({**LIBRARY_SETTINGS, "aot_inductor.output_path": str(library)}),
          config.patch(get_cpp_wrapper_config())):
        compile_fx_inner(graph, inputs, static_input_idxs=list(lasting), is_backward=is_backward,
                         cpp_wrapper=True)
    return strides


class Region:
    """The backend of torch.compile that writes libraries."""

    def __init__(self, names, folder):
        self.names = names
        self.folder = folder
        self.described = {}

    def __call__(self, graph, inputs):
        arguments = [re.fullmatch(r"[lL]_args_(\d+)_", node.name).group(1)
                     for node in graph.graph.find_nodes(op="placeholder")]
        self.described["inputs"] = [self.names[int(number)] for number in arguments]
        self.described["shapes"] = [list(one.shape) for one in inputs]
        compiler = aot_autograd(fw_compiler=self.forward, bw_compiler=self.backward,
                                partition_fn=partition_fn, decompositions=select_decomp_table())
        return compiler(graph, inputs)

    def forward(self, graph, inputs):
        traced = graph.forward
        number_of_outputs = len(graph.graph.output_node().args[0])
        saved = without_inputs(graph, self.described["inputs"])
        strides = compile_part(graph, inputs, self.folder / "forward.so", is_backward=False)
        for place in saved:
            if "output" in place:
                place["strides"] = strides[place["output"]]
        self.described["saved"] = saved
        # Backward is compiled for these.
        reported = TracingContext.get().output_strides
        reported.append(tuple(strides[0]))
        reported.extend(tuple(place["strides"]) for place in saved)
        assert len(reported) == number_of_outputs
        return traced

    def backward(self, graph, inputs):
        output = graph.graph.output_node()
        gradients = output.args[0]
        wanted = [i for i, node in enumerate(gradients) if node is not None]
        self.described["gradients"] = wanted
        traced = graph.forward
        output.args = (tuple(gradients[i] for i in wanted),)
        graph.recompile()
        compile_part(graph, inputs, self.folder / "backward.so", is_backward=True)
        return traced


def remove_all(folder, kept=()):
    for left in folder.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
        elif left.suffix not in kept:
            left.unlink()


def compile_region(settings, folder):
    remove_all(folder)  # a killed compiler's
    inputs = inputs_of(settings)
    function = getattr(description, settings["region"])
    low = LOW.get(settings["precision"])

    def run(*args):
        with torch.autocast(settings["device"], low, enabled=low is not None, cache_enabled=False):
            return function(settings, *args)

    region = Region(list(inputs), folder)
    with functorch_config.patch(activation_memory_budget=settings["budget"],
                                force_non_lazy_backward_lowering=True):
        torch.compile(run, backend=region, fullgraph=True, dynamic=False)(*inputs.values())
    remove_all(folder, kept=(".so",))  # sources and objects
    (folder / "region.json").write_text(json.dumps(region.described, indent=1), encoding="utf-8")


if __name__ == "__main__":
    compile_region(json.load(sys.stdin), Path(sys.argv[1]))
