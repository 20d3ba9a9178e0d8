"""Runs the memory part of Liger-Kernel's benchmark scripts for rows of its table; prints a JSON line for each row.

usage: kernel_memory.py FOLDER...     FOLDER: src, benchmark and test of a commit, and run.json, of tables.py run

A script's own function measures. Its times are left out, and its table is not written. Each FOLDER has a process.
"""

import json
import os
import runpy
import sys
from pathlib import Path


def settings_of(text, torch):
    """The settings that the table has as text, such as "torch.float32"."""
    return {
        name: getattr(torch, value.removeprefix("torch.")) if str(value).startswith("torch.") else value
        for name, value in json.loads(text).items()
    }


def number_of(text):
    return float(text) if "." in text else int(text)


def measure(run, bench_test_fn, utils):
    import torch

    for number, provider, mode, x, _ in run["rows"]:
        asked = utils.SingleBenchmarkRunInput(
            x=number_of(x), kernel_provider=provider, kernel_operation_mode=mode,
            extra_benchmark_config=settings_of(run["settings"][number], torch),
        )  # fmt: skip
        try:
            found = bench_test_fn(asked).y_50
        except Exception as error:
            found = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        print("row", json.dumps([run["name"], number, provider, mode, x, found]), flush=True)


def run_script(folder):
    run = json.loads((folder / "run.json").read_text())
    scripts = folder / "benchmark" / "scripts"
    sys.path[:0] = map(str, (scripts, folder / "src", folder))
    import utils  # the repository's

    measured = []

    def run_benchmarks(bench_test_fn, kernel_name, metric_name, **_):
        """Twice for a kernel: with other settings, which the rows have."""
        if metric_name == "memory" and kernel_name == run["kernel"] and not measured:
            measured.append(kernel_name)
            measure(run, bench_test_fn, utils)

    utils.run_benchmarks = run_benchmarks
    script = str(scripts / f"{run['script']}.py")
    sys.argv = [script]
    runpy.run_path(script, run_name="__main__")


def main(folders):
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    import torch  # noqa: F401 once for all

    failed = 0
    for folder in folders:
        process = os.fork()
        if process == 0:
            run_script(Path(folder))
            sys.exit(0)
        failed += os.waitpid(process, 0)[1] != 0
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
