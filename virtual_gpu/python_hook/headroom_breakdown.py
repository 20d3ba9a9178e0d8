"""The use of the card's memory in this process: tells libheadroom_breakdown.so what Python does.

See Note [Breakdown] (bench/dryrun/breakdown/ledger.h). Nothing here keeps a tensor or a module alive,
asks the card for memory or waits for it. No error of ours reaches the program.
"""

import ctypes
import json
import os
import sys

import headroom_owners
import headroom_places
import headroom_version

library = None  # set by start()
owners = None
is_compiling = None  # dynamo takes it for True, and so leaves our hooks out of what it compiles
failures = []


def _failed(error):
    """An error becomes one line on stderr, the first time."""
    if not failures:
        sys.stderr.write(f"headroom dryrun: the breakdown is not complete: {error!r}\n")
    failures.append(error)


def enter(module, _inputs):
    if is_compiling():
        return
    try:
        library.headroom_breakdown_enter(owners.runs(module))
    except Exception as error:
        _failed(error)


def leave(module, _inputs, _output):
    if is_compiling():
        return
    try:
        library.headroom_breakdown_leave(owners.number_of_module(module))
    except Exception as error:
        _failed(error)


def step_begins(optimizer, _arguments, _named):
    if is_compiling():
        return
    try:
        owners.see_optimizer(optimizer)
        library.headroom_breakdown_begin_optimizer()
    except Exception as error:
        _failed(error)


def step_ends(optimizer, _arguments, _named):
    if is_compiling():
        return
    try:
        owners.tag_state(optimizer)
        library.headroom_breakdown_end_optimizer(owners.number_of_optimizer(optimizer))
    except Exception as error:
        _failed(error)


def _watched_backward(run_backward):
    def watched(*arguments, **named):
        library.headroom_breakdown_begin_backward()
        try:
            return run_backward(*arguments, **named)
        finally:
            try:
                owners.tag_gradients()
            except Exception as error:
                _failed(error)
            library.headroom_breakdown_end_backward()

    return watched


def _watch(torch):
    from torch.nn.modules import module
    from torch.optim import optimizer

    module.register_module_forward_pre_hook(enter)
    module.register_module_forward_hook(leave, always_call=True)
    optimizer.register_optimizer_step_pre_hook(step_begins)
    optimizer.register_optimizer_step_post_hook(step_ends)
    watched = _watched_backward(torch.autograd.graph._engine_run_backward)
    torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = watched


def _load(path):
    loaded = ctypes.PyDLL(path)  # its calls are short: they keep the GIL
    word, number, text = ctypes.c_size_t, ctypes.c_uint32, ctypes.c_char_p
    for name, types, result in (
        ("start", (text, text, text, text, word), ctypes.c_int),
        ("name", (text,), number),
        ("enter", (number,), None),
        ("leave", (number,), None),
        ("begin_backward", (), None),
        ("end_backward", (), None),
        ("begin_optimizer", (), None),
        ("end_optimizer", (number,), None),
        ("tag", (word, word, ctypes.c_int), None),
        ("refusal", (ctypes.c_int, ctypes.c_int64), text),
        ("finish", (), text),
    ):
        function = getattr(loaded, f"headroom_breakdown_{name}")
        function.argtypes, function.restype = types, result
    return loaded


class Breakdown:
    """Of this process, from the moment at which CUDA was started."""

    def __init__(self, torch):
        self.torch = torch
        self.reason = ""  # why there is none
        self.refusals = []

    def start(self, snapshot_entries):
        global library, owners, is_compiling
        path = headroom_version.library(self.torch, "libheadroom_breakdown.so")
        if path is None:
            self.reason = headroom_version.missing(self.torch)
            return
        library = _load(path)
        owners = headroom_owners.Owners(self.torch, library)
        is_compiling = self.torch.compiler.is_compiling
        rules = (os.fsencode("\n".join(names)) for names in headroom_places.rules())
        if not library.headroom_breakdown_start(*rules, snapshot_entries):
            library = None
            self.reason = "this allocator has no events (cudaMallocAsync)"
            return
        _watch(self.torch)

    def memory_ran_out(self, device, wanted, where):
        if library is None:
            return
        owners.find_all()
        owners.tag_gradients()
        refusal = _readable(json.loads(library.headroom_breakdown_refusal(device, wanted)))
        self.refusals = [*self.refusals[-7:], {**refusal, "where": where}]

    def report(self):
        if library is None:
            return {"reason": self.reason}
        owners.find_all()
        owners.tag_gradients()
        devices = json.loads(library.headroom_breakdown_finish())
        for device in devices:
            _readable(device["peak"])
        return {"reason": self.reason, "devices": devices, "out_of_memory": self.refusals}


def _readable(instant):
    """With places as the report prints them: "train.py:42 in step"."""
    for row in instant["rows"]:
        words = row["place"].split("\n")
        triples = [words[i : i + 3] for i in range(0, len(words) - 2, 3)]
        places = [(name, int(line), function) for name, line, function in triples]
        row["place"] = headroom_places._describe(places)
    return instant
