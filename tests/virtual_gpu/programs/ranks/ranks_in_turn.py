"""Ranks 0 and 2 of 4, run one after the other: what rank 0 sent, rank 2 is told; the rest echoes.

tests/virtual_gpu/dryrun/ranks_test.py reads its exit code.
"""

import os

import torch
import torch.distributed as dist


def check(got, wanted) -> None:
    if got != wanted:
        raise SystemExit(f"rank {dist.get_rank()}: {got!r}, not {wanted!r}")


def main() -> None:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    held = [f"of rank {rank}"]
    dist.broadcast_object_list(held, src=0)
    check(held, [f"of rank {rank}"])
    told = torch.tensor([7, 8] if rank == 0 else [-1, -1], device="cuda")
    dist.broadcast(told, src=0)
    check(told.tolist(), [7, 8])
    absent = torch.tensor([rank], device="cuda")
    dist.broadcast(absent, src=3)
    check(absent.tolist(), [rank])
    if rank == 0:
        dist.send(torch.tensor([5, 6], device="cuda"), dst=2)
        dist.send_object_list([{"width": 64}], dst=2)
    if rank == 2:
        sent = torch.zeros(2, dtype=torch.long, device="cuda")
        dist.recv(sent, src=0)
        check(sent.tolist(), [5, 6])
        objects = [None]
        dist.recv_object_list(objects, src=0)
        check(objects, [{"width": 64}])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
