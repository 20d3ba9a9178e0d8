#!/usr/bin/env python3
"""Our own step under ZeRO: its fullest rank on the virtual card, by `headroom profile --mesh`.

--figure states is what DeepSpeed's estimators call model states: parameters, master copy, gradients
and the optimizer's states, each at its own fullest moment.
"""

from __future__ import annotations

import json
import subprocess
import sys

import estimator_modules  # noqa: F401
from answers import versions_of
from shapes import SHAPES, make_rank_parser

CARD = "h100-80gb"
STATES = ("parameters", "master_weights", "gradients", "optimizer_state")
SETTINGS = (
    "--profile-type training --batch-size 1 --param-dtype bf16 --master-weights fp32 --attention sdpa"
)
STEPS = "--warmup-steps 2 --measure-steps 1 --record-steps 1 --stacks none"


def command_of(options) -> list[str]:
    shape = SHAPES[options.size]
    values = {
        "model-size": "custom",
        "d-model": shape.width,
        "layers": shape.layers,
        "heads": shape.heads,
        "kv-heads": shape.key_heads,
        "d-ff": shape.hidden,
        "vocab-size": shape.vocabulary,
        "context-length": shape.context,
        "mesh": f"dp={options.ranks}",
        "zero": options.mode.removeprefix("own-zero"),
        "rank": "distinct",
        "recompute": "full" if options.checkpointed else "none",
        "device": f"virtual:{CARD}",
    }
    flags = [word for name, value in values.items() for word in (f"--{name}", str(value))]
    return [options.headroom, "profile", *flags, *SETTINGS.split(), *STEPS.split(), "--format=json"]


def main() -> None:
    parser = make_rank_parser(__doc__.splitlines()[0])
    parser.add_argument("--headroom", required=True)
    parser.add_argument("--figure", choices=("peak", "states"), required=True)
    options = parser.parse_args()
    done = subprocess.run(command_of(options), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print((done.stderr.strip().splitlines() or ["no message"])[-1], file=sys.stderr)
        raise SystemExit(done.returncode)
    record = json.loads(done.stdout)
    figure = record["peak_allocated_bytes"]
    note = "the fullest rank of each kind, alone"
    if options.figure == "states":
        figure = sum(record["category_peak_bytes"].get(name, 0) for name in STATES)
        note = "of the same rank: parameters, master copy, gradients, optimizer's states"
    answer = {"status": "ok", "peak_bytes": figure, "note": note, "versions": versions_of(record)}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
