"""Runs a module as a program whose ranks gather objects of Python through the store of its process group.

usage: gather_by_store.py MODULE ARGUMENTS...

torch.distributed sends such objects over the card. Their bytes are known there since torch 2.11 alone
(docs/inside/virtual_gpu.md, "Known values"); with an older one a program would read zeros. What is measured before does
not change.
"""

import ast
import importlib
import pickle
import sys
from pathlib import Path

import torch.distributed as dist


def gather_object(mine, object_gather_list=None, dst=0, group=None):
    store, rank = dist.distributed_c10d._get_default_store(), dist.get_rank()
    number = gather_object.calls = getattr(gather_object, "calls", 0) + 1
    store.set(f"gathered/{number}/{rank}", pickle.dumps(mine))
    for other in range(dist.get_world_size()) if rank == dst else ():
        object_gather_list[other] = pickle.loads(store.get(f"gathered/{number}/{other}"))
    dist.barrier()


dist.gather_object = gather_object  # here, because processes that it spawns import this file


def run_as_program(name):
    """The last statement of the module, `if __name__ == "__main__"`: spawned processes find its functions by its name."""
    module = importlib.import_module(name)
    body = ast.parse(Path(module.__file__).read_text()).body[-1].body
    exec(compile(ast.Module(body, type_ignores=[]), module.__file__, "exec"), vars(module))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.argv = sys.argv[1:]
    run_as_program(sys.argv[0])
