"""Cells on virtual cards in `headroom-cell --serve`: libtorch is loaded once a card, not once a grid.

warm_worker_test.py holds that a Record of a worker is that of a new process, byte for byte.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REFUSED = 2    # exit status
KEPT = 2       # workers that wait for more cells, about 0.5 GiB each


def flags_of(axes):
    return [f"--{name.replace('_', '-')}={value}" for name, value in axes.items()]


def environment_of_a_cell(headroom, device, folder, alloc_conf=""):
    """The environment of a cell on a virtual card, as a cell program prints it."""
    tells = Path(folder) / "tells_its_environment"
    into = Path(folder) / "environment"
    tells.write_text(f"#!/bin/sh\ncat /proc/self/environ > '{into}'\nexit 7\n", encoding="utf-8")
    tells.chmod(0o755)
    command = [headroom, "profile", "--model-size", "small", "--device", device]
    subprocess.run(command + ([f"--alloc-conf={alloc_conf}"] if alloc_conf else []),
                   env={**os.environ, "HEADROOM_CELL": str(tells)}, capture_output=True, check=False)
    pairs = (entry.split("=", 1) for entry in into.read_text(encoding="utf-8").split("\0") if entry)
    return {**dict(pairs), "OMP_NUM_THREADS": "1"}


def may_be_served(spec):
    """As bench/launch/cell.cpp says it."""
    return not (spec["mesh"] != "none" or spec.get("snapshot") or
                spec["optimizer_offload"].startswith("nvme"))


def request(spec):
    return json.dumps({"spec": spec, "host_memory_bytes": 0, "watch": False, "progress": False}) + "\n"


class Worker:
    """One `headroom-cell --serve`."""

    def __init__(self, cell, environment):
        self.process = subprocess.Popen([cell, "--serve"], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.cells = 0

    def ask(self, spec):
        """Its line: a Record, or that it declined; empty when it ended."""
        self.cells += 1
        try:
            self.process.stdin.write(request(spec))
            self.process.stdin.flush()
        except BrokenPipeError:
            return ""
        return self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()


def alone(cell, environment, spec):
    """The line of a process of its own."""
    return subprocess.run([cell], input=request(spec), env=environment, text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


class WarmCells:
    """Records by the flags of `headroom sweep`; where a worker declines, of a new process.

    On the CPU the cells of a grid are of one process, too; so are those of compiled kernels, which the sweep compiles.
    """

    def __init__(self, headroom):
        self.headroom = headroom
        self.cell = str(Path(headroom).with_name("headroom-cell"))
        self.environments = {}
        self.workers = {}  # by device and allocator settings; the one that was used last at the end
        self.warm = 0      # cells that a worker ran

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers.values():
            worker.end()
        self.workers.clear()

    def specs(self, **axes):
        """Of every cell of a grid; None where it is refused."""
        command = [self.headroom, "sweep", *flags_of(axes), "--dry-run", "--format", "jsonl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == REFUSED:
            return None
        if done.returncode != 0 or not done.stdout:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return [json.loads(line)["spec"] for line in done.stdout.splitlines()]

    def sweep(self, **axes):
        """The Records of a grid that must not be refused."""
        if axes["device"] == "cpu" or axes.get("kernels") == "compiled":
            return self.in_one_process(**axes)
        specs = self.specs(**axes)
        if specs is None:  # what was refused is no cell that agrees
            sys.exit(f"refused: headroom sweep {' '.join(flags_of(axes))}")
        return [self.run(spec) for spec in specs]

    def in_one_process(self, **axes):
        command = [self.headroom, "sweep", *flags_of(axes), "--one-process", "--format", "jsonl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        if not done.stdout:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def run(self, spec):
        kind = (spec["device"], spec.get("alloc_conf", ""))
        if kind not in self.environments:
            with tempfile.TemporaryDirectory() as folder:
                self.environments[kind] = environment_of_a_cell(self.headroom, kind[0], folder, kind[1])
        environment = self.environments[kind]
        if not may_be_served(spec):
            return json.loads(alone(self.cell, environment, spec))
        worker = self.workers.pop(kind, None) or Worker(self.cell, environment)
        line = worker.ask(spec)
        record = json.loads(line) if line else {}
        if "environment" not in record or (record["status"] == "failed" and worker.cells > 1):
            worker.end()
            return json.loads(alone(self.cell, environment, spec))
        self.warm += 1
        self.workers[kind] = worker
        while len(self.workers) > KEPT:
            self.workers.pop(next(iter(self.workers))).end()
        return record
