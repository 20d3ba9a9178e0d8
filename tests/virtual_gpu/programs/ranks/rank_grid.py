"""A job on a mesh of stages, replicas and tensor ranks, whose stages need different memory.

usage: rank_grid.py STAGES REPLICAS TENSORS
"""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def main() -> None:
    stages, replicas, tensors = (int(word) for word in sys.argv[1:])
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    # Bound to a device, a mesh splits its groups off the world.
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    mesh = init_device_mesh("cuda", (stages, replicas, tensors), mesh_dim_names=("pp", "dp", "tp"))
    stage = mesh.get_local_rank("pp")
    table = torch.ones(8 if stage == 0 else 4, 1 << 20, device="cuda")
    head = torch.ones(2, 1 << 20, device="cuda") if stage == stages - 1 else None
    for name in ("dp", "tp"):
        assert mesh.get_group(name).size() == mesh.size(mesh.mesh_dim_names.index(name))
        dist.all_reduce(table, group=mesh.get_group(name))
    dist.barrier()
    del head
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
