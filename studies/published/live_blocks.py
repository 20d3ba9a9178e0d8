"""Live memory on the card whenever a program calls one of its functions: stands for the program in
a run of headroom dryrun.

usage: live_blocks.py MODULE:FUNCTION PROGRAM [WORD...]   FUNCTION may be a class's, Class.function

Each call prints one line of JSON before it goes on: requested, allocated, reserved bytes, and the
live blocks, most bytes first, as [bytes of a block, bytes asked for, how many]. The commands with
which results/published/mesh_figures.json has seen blocks stand there.
"""

import collections
import functools
import importlib
import json
import os
import runpy
import sys


def live():
    import torch

    stats = torch.cuda.memory_stats()
    blocks = collections.Counter(
        (block["size"], block["requested_size"])
        for segment in torch.cuda.memory_snapshot()
        for block in segment["blocks"]
        if block["state"] == "active_allocated"
    )
    most_first = sorted(blocks.items(), key=lambda one: -one[0][0] * one[1])
    return {
        **{
            f"{what}_bytes": stats[f"{what}_bytes.all.current"]
            for what in ("requested", "allocated", "reserved")
        },
        "blocks": [[*size, count] for size, count in most_first],
    }


def watch(place):
    module, _, name = place.partition(":")
    *path, last = name.split(".")
    owner = functools.reduce(getattr, path, importlib.import_module(module))
    function = getattr(owner, last)

    @functools.wraps(function)
    def watched(*args, **kwargs):
        print(json.dumps({"rank": os.environ.get("RANK", ""), **live()}), flush=True)
        return function(*args, **kwargs)

    setattr(owner, last, watched)


def main():
    if len(sys.argv) < 3 or ":" not in sys.argv[1]:
        print(__doc__, file=sys.stderr)
        return 2
    _, place, *sys.argv = sys.argv
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    watch(place)
    runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
