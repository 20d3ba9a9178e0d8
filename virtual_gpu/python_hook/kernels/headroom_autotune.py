"""Nothing is timed under `headroom dryrun`: of several kernels the first that runs is taken.

torch.compile's max-autotune and Triton's autotuners build every candidate and run it for a while.
On a virtual GPU no time passes in a kernel, so their choice would mean nothing, and would take
minutes. Which kernel multiplies changes no size of a tensor; that of PyTorch itself (cuBLAS) is the
first choice where there is one.
"""

import functools
import sys

import headroom_imports

_SAID = []


def _say():
    if _SAID:
        return
    _SAID.append(True)
    sys.stderr.write(
        "headroom dryrun: autotuning takes the first kernel that runs, PyTorch's own if it "
        "exists, as a virtual GPU has no times to compare (shown once)\n"
    )


def _first_of(choices):
    own = [choice for choice in choices if type(choice).__name__ == "ExternKernelCaller"]
    return (own or list(choices))[0]


def _select_algorithm(module):
    def do_autotuning(
        self, name, input_nodes, layout, input_gen_fns, inputs_key, choices, *rest, **more
    ):
        _say()
        first = _first_of(choices)
        return {choice: 1.0 if choice is first else float("inf") for choice in choices}

    module.AlgorithmSelectorCache.do_autotuning = do_autotuning


def _run_once(function):
    """What times a callable, by which a caller finds candidates that fail."""
    _say()
    function()
    return 1.0


def _coordinate_descent(module):
    """This search builds a kernel for each neighbour of its first configuration. Here it runs the first configuration alone,
    because a run takes memory and its time means nothing."""

    def autotune(self, func, baseline_config, baseline_timing=None):
        if baseline_timing is None:
            func(baseline_config)
        return baseline_config

    module.CoordescTuner.autotune = autotune


def _inductor_benchmarking(module):
    for name in ("TritonBenchmarker", "InductorBenchmarker"):
        kind = getattr(module, name, None)
        if kind is not None:
            kind.benchmark_gpu = lambda self, function, *rest, **more: _run_once(function)


def _triton_testing(module):
    def do_bench(fn, *rest, quantiles=None, **more):
        time = _run_once(fn)
        return time if quantiles is None else [time] * len(quantiles)

    module.do_bench = do_bench
    module.do_bench_cudagraph = do_bench


_CHANGES = {
    "torch._inductor.select_algorithm": _select_algorithm,
    "torch._inductor.runtime.benchmarking": _inductor_benchmarking,
    "torch._inductor.runtime.coordinate_descent_tuner": _coordinate_descent,
    "triton.testing": _triton_testing,
}


def _change(name, module):
    try:
        _CHANGES[name](module)
    except Exception as error:  # another version: it is timed then
        sys.stderr.write(
            f"headroom dryrun: {name} is not as expected, so kernels are timed: {error!r}\n"
        )


def take_first():
    headroom_imports.change({name: functools.partial(_change, name) for name in _CHANGES})
