"""One rank of a job whose other ranks are absent; tests/virtual_gpu/dryrun/ranks_test.py reads its exit code."""

import os

import torch
import torch.distributed as dist


def check(got, wanted) -> None:
    if got != wanted:
        raise SystemExit(f"{got!r}, not {wanted!r}")


def main() -> None:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group()  # gloo for the host, nccl for the card
    rank, size = dist.get_rank(), dist.get_world_size()
    check((rank, size, os.environ["LOCAL_RANK"]), (5, 16, "5"))
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank})
    check(gathered, [{"rank": rank}] * size)
    for root in (5, 0):
        gathered = [None] * size if root == rank else None
        dist.gather_object({"of": [rank]}, gathered, dst=root)
        check(gathered, [{"of": [rank]}] * size if root == rank else None)
    part = [None]
    dist.scatter_object_list(part, [f"of {other}" for other in range(size)], src=rank)
    check(part, ["of 5"])
    held = ["mine"]
    dist.broadcast_object_list(held, src=0)
    check(held, ["mine"])
    count = torch.tensor(3, device="cuda")
    dist.all_reduce(count)
    check(count.item(), 3 * size)
    pair = dist.new_group([4, 5])
    dist.all_reduce(torch.ones(2), group=dist.new_group(backend="gloo"))
    flag = torch.tensor([7], device="cuda")
    dist.broadcast(flag, src=4, group=pair)
    check(flag.item(), 7)
    told = torch.empty(size, dtype=torch.long, device="cuda")
    dist.all_to_all_single(told, torch.arange(size, device="cuda") + 7)
    check(told.tolist(), [other + 7 for other in range(size)])
    dist.recv(told, src=4)  # no exchange: nobody knows
    check((told + 7).tolist(), [0] * size)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
