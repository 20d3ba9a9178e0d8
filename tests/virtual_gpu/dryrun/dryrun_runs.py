"""The runs of dryrun_test.py: flags and program by name, and the figures of one run."""
from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from at_night import IS_NIGHT  # noqa: E402

HEADROOM, ALLOCATE, LATE_THREAD = (str(Path(word).absolute()) for word in sys.argv[1:4])
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
PYTHON = [sys.executable]
TORCHRUN = [*PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
FORKED = [*PYTHON, str(PROGRAMS / "processes/forked.py"), "2"]  # by day: torch is imported once
SCRATCH = tempfile.TemporaryDirectory()
MEBI, GIBI = 2**20, 2**30


def python(name: str, *arguments: str) -> list[str]:
    return [*PYTHON, str(PROGRAMS / name), *arguments]


def quick(name: str, *arguments: str) -> list[str]:
    """Ends sooner, where the end is nothing that is tested."""
    return python("processes/quick_end.py", str(PROGRAMS / name), *arguments)


def line_of(mark: str) -> str:
    """Of programs/steered.py: "steered.py:15"."""
    lines = (PROGRAMS / "steered.py").read_text().splitlines()
    return f"steered.py:{next(i for i, line in enumerate(lines, 1) if line.endswith(f'# {mark}'))}"


def values(start: str, *numbers: str) -> list[str]:
    """--value for the lines of steered.py from the one with this text on."""
    lines = (PROGRAMS / "steered.py").read_text().splitlines()
    first = next(i for i, line in enumerate(lines, 1) if start in line)
    return [word for i, number in enumerate(numbers, first) for word in ("--value", f"steered.py:{i}={number}")]


# Programs of one run, which imports torch once. The first ones do not make it doubt the peak; at night two of them run
# alone, beside runs with other flags.
TOGETHER = {
    "calm": {"log": "steered.py,log", "answers": "steered.py,answers", "generate": "steered.py,wait"}
    | ({} if IS_NIGHT else {"linear": "train_linear.py", "transformer": "train_transformer.py"}),
    "doubted": {"router": "steered.py,router", "searches": "cuda/searches.py"},
}


def in_turn(name: str) -> list[str]:
    return python("processes/in_turn.py", *(str(PROGRAMS / text) for text in TOGETHER[name].values()))


# name: (flags, program). Everything runs on a card of 24 GiB unless the flags say otherwise.
RUNS = {
    "linear": (["--snapshot", "linear.pickle"], python("train_linear.py")),
    "expandable": (["--alloc-conf", "expandable_segments:True"], python("train_linear.py")),
    "async": (["--alloc-conf", "backend:cudaMallocAsync"], quick("train_linear.py")),
    "transformer": ([], quick("train_transformer.py")),
    "transformer_snapshot": (["--snapshot", "transformer.pickle"], quick("train_transformer.py")),
    "router_hit": (["--value", f"{line_of('router reads')}=8"], quick("steered.py", "router")),
    "equal": ([], quick("steered.py", "equal")),
    "equal_true": (["--value", f"{line_of('equal reads')}=true"], quick("steered.py", "equal")),
    "hold": ([], quick("steered.py", "hold")),
    "calm": (["--snapshot", "calm.pickle", *values("torch.bfloat16", "1.5", "7", "1", "-2*2,3"), "--value", f"{line_of('wait reads')}=0*6,1",
              "--value", "nosuch.py:3=1"], in_turn("calm")),
    "doubted": ([], in_turn("doubted")),
    "stopped": (["--snapshot", "stopped.pickle"], python("steered.py", "wait", "TERM")),
    "interrupted": ([], python("steered.py", "wait", "INT")),
    "graphs": ([], quick("cuda/graphs.py")),
    "streams": (["--count", "2"], quick("cuda/loader_streams.py")),
    "oom": (["--snapshot", "oom.pickle"], python("out_of_memory.py", "raised")),
    "oom_small": (["--bytes", "4GiB"], quick("out_of_memory.py", "caught")),
    "torchrun": (["--count", "2", "--snapshot", "ranks.pickle"],
                 [*(TORCHRUN if IS_NIGHT else FORKED), str(PROGRAMS / "ranks/two_processes.py")]),
    "forks": ([], python("processes/forks.py", "abort")),
    "missing_tool": ([], python("processes/endings.py", "_exit")),
    "replaced": ([], python("processes/endings.py", "replaced")),
    "killed_late": ([], python("processes/endings.py", "killed")),
    "terminates_itself": (["--snapshot", "terminated.pickle"], python("processes/endings.py", "SIGTERM")),
    "hangs_up_itself": ([], python("processes/endings.py", "SIGHUP")),
    "host_weights": ([], quick("cuda/host_weights.py", "16", "2048")),
    "skip_host_init": (["--skip-host-init"], quick("cuda/host_weights.py", "16", "2048")),
    "isolated": ([], [*PYTHON, "-I", str(PROGRAMS / "train_linear.py")]),
    "interrupts": ([], python("processes/interrupts.py")),
    "killed": ([], python("steered.py", "wait", "KILL")),
    "cpp": ([], [ALLOCATE, str(MEBI)]),
    "cpp_stopped": ([], [ALLOCATE, str(MEBI), "stopped"]),
    "cpp_oom": ([], [ALLOCATE, str(GIBI), "all"]),
    "late_thread": ([], python("processes/late_thread.py", LATE_THREAD)),
    "no_cuda": ([], [*PYTHON, "-c", ("import torch; torch.ones(2); " if IS_NIGHT else "") + "raise SystemExit(7)"]),
}
# Each has a run beside it that differs in little, or a test of its own in python_hook/. By day they do not run, and what is
# asked of them is skipped.
AT_NIGHT = {"async", "equal", "equal_true", "hold", "hangs_up_itself", "skip_host_init", "host_weights", "interrupts",
            "replaced", "killed",
            # virtual_profile, breakdown_test.py and late_events_test.py run their like by day.
            "transformer_snapshot", "expandable", "isolated", "oom_small", "graphs", "router_hit", "interrupted",
            "linear", "transformer"}


class Result:
    def __init__(self, name: str):
        flags, program = RUNS[name]
        self.json = Path(SCRATCH.name, f"{name}.json")
        command = [HEADROOM, "dryrun", "--card", "rtx4090", "--json", str(self.json), *flags]
        done = subprocess.run([*command, "--", *program], cwd=SCRATCH.name, capture_output=True,
                              text=True, timeout=300)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.document = json.loads(self.json.read_text())

    @property
    def processes(self) -> list[dict]:
        return self.document["processes"]

    def part(self, text: str) -> Result:
        """One of the programs of in_turn.py: its output and its process; messages and document are of all."""
        part = copy.copy(self)
        heading = re.search(rf"^(\d+) \S*/{re.escape(text)}\n", self.out, re.MULTILINE)
        part.out = re.split(r"^\d+ /.*\n", self.out[heading.end():], maxsplit=1, flags=re.MULTILINE)[0]
        own = [process for process in self.processes if process["pid"] == int(heading[1])]
        part.document = {**self.document, "processes": own}
        return part

    @property
    def device(self) -> dict:
        return self.processes[0]["devices"][0]

    @property
    def allocator(self) -> dict:
        return self.device["allocator"]
