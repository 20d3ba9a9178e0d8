#!/usr/bin/env python3
"""Times headroom and its Python peers side by side, in one run.

Every round runs each program once, one process at a time: headroom, the peers, headroom again (the
A/A arm, whose spread is the noise of the run); every second round in the opposite order. All start
from the same weights and read the same tokens. A step time is compared only after the losses agree.

Writes results/peers/<what>_<device>_<date>.jsonl, one line per process as it ends, and the table
made from it, .md. Flags after "--" go to every program: -- --d-model 64 --d-ff 128 ...
Exit codes: 0 ok; 2 usage; 3 a program failed; 4 losses differ (those cells get no times);
5 the results cannot be written; 130 interrupted, what had ended is in the .jsonl.
"""

from __future__ import annotations

import argparse
import array
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from command_line import OneLineParser, natural, positive
from comparison import OURS, Cell, Line, loss_problems, table, why_not
from report_file import append, compare_into, print_again, say

PEERS = Path(__file__).parent
ROOT = PEERS.parent.parent
VOCAB_SIZE = 10000
# Arguments after the interpreter. compiled_graphs: torch.compile with CUDA graphs, only on a card.
PEER_PROGRAMS = {
    "eager_reference": ("eager_reference.py",),
    "sdpa_fused": ("sdpa_fused.py",),
    "compiled": ("compiled.py",),
    "compiled_graphs": ("compiled.py", "--compile-mode", "reduce-overhead"),
}
PEER_NAMES = tuple(PEER_PROGRAMS)


@dataclass(frozen=True)
class Arm:
    name: str
    command: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    options: argparse.Namespace
    arms: list[Arm]
    shared: list[str]  # flags that every program gets
    out: Path


class ProgramError(Exception):
    """One line: what a program said when it failed."""


def make_parser() -> OneLineParser:
    parser = OneLineParser(__doc__.splitlines()[0])
    add = parser.add_argument
    add("--sizes", default="small", help="comma-separated model sizes")
    add("--contexts", default="128", help="comma-separated context lengths")
    add("--precision", default="fp32", help="comma-separated: fp32, tf32, bf16")
    add(
        "--peers",
        default="eager_reference,sdpa_fused,compiled",
        help=f"comma-separated: {', '.join(PEER_NAMES)}",
    )
    add("--ours", default="", metavar="FLAGS", help="headroom itself with these flags")
    add(
        "--variant", action="append", default=[], metavar="NAME=FLAGS", help="headroom, other flags"
    )
    add("--rounds", type=positive, default=5)
    add("--profile-type", choices=("forward-backward", "training"), default="training")
    add("--batch-size", type=positive, default=4)
    add("--warmup-steps", type=natural, default=2)
    add("--measure-steps", type=positive, default=3, help="timed steps per process")
    add("--threads", type=natural, default=2)
    add("--device", choices=("cpu", "cuda"), default="cpu")
    add("--deadline", type=float, default=1800, help="seconds per process")
    add("--headroom", type=Path, default=ROOT / "build/release/bin/headroom")
    add("--output", type=Path, default=ROOT / "results/peers", metavar="DIR")
    add("--name", default="steps", help="first part of the file names")
    add("--report", type=Path, metavar="JSONL", help="run nothing: print the table of this file")
    return parser


def words(parser: OneLineParser, flag: str, text: str, known: tuple[str, ...]) -> list[str]:
    found = text.split(",")
    for word in found:
        if not word or (known and word not in known):
            choices = f"; one of {', '.join(known)}" if known else ""
            parser.error(f"{flag}: {word!r} in {text!r} is not allowed{choices}")
    return found


def make_arms(options: argparse.Namespace, peers: list[str]) -> list[Arm]:
    ours = [str(options.headroom), "profile", "--record-steps", "0", "--format", "json"]
    base = ours + shlex.split(options.ours)
    arms = [Arm("headroom", base)]
    for text in options.variant:
        name, _, flags = text.partition("=")
        arms.append(Arm(f"headroom_{name}", ours + shlex.split(flags)))
    for name in peers:
        script, *flags = PEER_PROGRAMS[name]
        arms.append(Arm(name, [sys.executable, str(PEERS / script), *flags]))
    return arms + [Arm("headroom_again", base)]


def run_program(command: list[str], deadline: float, scratch: Path) -> dict[str, object]:
    """The JSON object on the last line of its stdout."""
    # A cold compile in the first round of every run, whatever earlier runs left in a cache.
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor")}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=deadline, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(f"killed after {deadline:g} s") from None
    except OSError as error:
        raise ProgramError(f"cannot run {command[0]}: {error.strerror}") from None
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise ProgramError(f"exit code {done.returncode}: {said[-1]}")
    try:
        result = json.loads(lines[-1], parse_constant=lambda _: None)
    except json.JSONDecodeError:
        raise ProgramError(f"its last line is not JSON: {lines[-1][:80]}") from None
    if result.get("status", "ok") != "ok":
        raise ProgramError(f"{result['status']}: {result.get('reason', '')}")
    return result


def write_tokens(path: Path, count: int, vocab_size: int) -> None:
    draw = random.Random(0)
    ids = array.array("H", (draw.randrange(vocab_size) for _ in range(count)))
    if sys.byteorder == "big":
        ids.byteswap()
    path.write_bytes(ids.tobytes())


def write_weights(options: argparse.Namespace, size: str, shared: list[str], scratch: Path) -> Path:
    """headroom's own seeded weights: one inference step changes nothing, then they are saved."""
    path = scratch / "weights.safetensors"
    flags = ["--model-size", size, "--context-length", "16", "--batch-size", "1", *shared]
    flags += ["--profile-type", "forward", "--warmup-steps", "0", "--measure-steps", "1"]
    flags += ["--record-steps", "0", "--device", options.device, "--save-weights", str(path)]
    command = [str(options.headroom), "profile", *flags, "--format", "json"]
    run_program(command, options.deadline, scratch)
    if not path.is_file():
        raise ProgramError("headroom profile --save-weights wrote no file")
    return path


def cell_flags(options: argparse.Namespace, cell: Cell, shared: list[str]) -> list[str]:
    return [
        *("--model-size", cell.model_size, "--context-length", str(cell.context_length)),
        *("--batch-size", str(options.batch_size), "--profile-type", options.profile_type),
        *("--precision", cell.precision, "--device", options.device),
        *("--threads", str(options.threads), "--warmup-steps", str(options.warmup_steps)),
        *("--measure-steps", str(options.measure_steps), *shared),
    ]


def without_paths(value: object, scratch: Path) -> object:
    """The same JSON with the folders of this machine taken out."""
    text = json.dumps(value).replace(str(scratch), "scratch")
    return json.loads(text.replace(str(sys.executable), "python").replace(f"{ROOT}/", ""))


def run_arm(arm: Arm, flags: list[str], deadline: float, scratch: Path) -> tuple[str, object]:
    """Why it failed, or "", and what it printed."""
    try:
        result = run_program([*arm.command, *flags], deadline, scratch)
    except ProgramError as error:
        return str(error), {}
    return "", without_paths(result, scratch)


def run_cell(run: Run, cell: Cell, flags: list[str], scratch: Path) -> list[Line]:
    """Ends early, with what it has, when losses differ."""
    options, lines = run.options, []
    for round_number in range(1, options.rounds + 1):
        for arm in run.arms if round_number % 2 else reversed(run.arms):
            reason, result = run_arm(arm, flags, options.deadline, scratch)
            line = Line(cell, round_number, arm.name, reason, result)
            append(run.out, line)
            lines.append(line)
            shown = reason or f"{line.median_ms:.1f} ms"
            say(f"[round {round_number}/{options.rounds}] {cell} {arm.name}: {shown}")
        if why_not(lines):
            break
    return lines


def run_size(run: Run, size: str, cells: list[Cell], scratch: Path) -> list[Line]:
    """All cells of one size, which share the file of weights."""
    options = run.options
    try:
        weights = write_weights(options, size, run.shared, scratch)
    except ProgramError as error:
        lines = [Line(cell, 0, OURS, f"making the weights: {error}", {}) for cell in cells]
        for line in lines:
            append(run.out, line)
        say(f"{size}: {lines[0].reason}")
        return lines
    lines = []
    for cell in cells:
        steps = options.warmup_steps + options.measure_steps
        tokens = scratch / "tokens.bin"
        write_tokens(
            tokens, steps * options.batch_size * cell.context_length + 1, options.vocab_size
        )
        flags = cell_flags(options, cell, run.shared)
        flags += ["--tokens", str(tokens), "--load-weights", str(weights)]
        lines += run_cell(run, cell, flags, scratch)
    return lines


def compare(run: Run, grid: list[Cell]) -> list[Line]:
    lines: list[Line] = []
    for size in dict.fromkeys(cell.model_size for cell in grid):
        with tempfile.TemporaryDirectory(prefix="headroom-peers-") as folder:
            cells = [cell for cell in grid if cell.model_size == size]
            lines += run_size(run, size, cells, Path(folder))
    return lines


def shared_vocab_size(parser: OneLineParser, shared: list[str]) -> int:
    if "--vocab-size" not in shared:
        return VOCAB_SIZE
    value = "".join(shared[shared.index("--vocab-size") + 1 :][:1])
    if not value.isdecimal() or not 0 < int(value) <= 2**16:
        parser.error(f"--vocab-size: {value!r} is not a whole number from 1 to 65536")
    return int(value)


def parse_grid(parser: OneLineParser, options: argparse.Namespace) -> list[Cell]:
    sizes = words(parser, "--sizes", options.sizes, ())
    precisions = words(parser, "--precision", options.precision, ("fp32", "tf32", "bf16"))
    contexts = words(parser, "--contexts", options.contexts, ())
    for context in contexts:
        if not context.isdecimal() or int(context) == 0:
            parser.error(f"--contexts: {context!r} is not a positive whole number; e.g. 128,512")
    return [Cell(s, int(c), p) for s in sizes for c in contexts for p in precisions]


def parse(arguments: list[str]) -> tuple[argparse.Namespace, list[Cell], list[str]]:
    parser = make_parser()
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    options, shared = parser.parse_args(arguments[:cut]), arguments[cut + 1 :]
    if not options.report and not os.access(options.headroom, os.X_OK):
        parser.error(f"--headroom: no program {options.headroom}; build it, or name it")
    options.peers = words(parser, "--peers", options.peers, PEER_NAMES) if options.peers else []
    options.vocab_size = shared_vocab_size(parser, shared)
    return options, parse_grid(parser, options), shared


def exit_code(lines: list[Line]) -> int:
    if loss_problems(lines):
        return 4
    return 3 if any(line.reason for line in lines) else 0


def main() -> int:
    options, grid, shared = parse(sys.argv[1:])
    if options.report:
        return print_again(options.report, Line.from_json, table)

    def run(out: Path) -> list[Line]:
        return compare(Run(options, make_arms(options, options.peers), shared, out), grid)

    prefix = f"{options.name}_{options.device}_"
    return compare_into(options.output, prefix, run, table, exit_code)


if __name__ == "__main__":
    sys.exit(main())
