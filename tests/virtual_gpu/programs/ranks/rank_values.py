"""Values that ranks send each other through the card, and kernels over them: asserted here.

Started by torchrun; tests/virtual_gpu/dryrun/ranks_test.py reads its exit code.
"""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def check(got, wanted) -> None:
    if got != wanted:
        raise SystemExit(f"rank {dist.get_rank()}: {got!r}, not {wanted!r}")


def objects(rank: int, size: int) -> None:
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank, "text": "x" * (10 * rank + 3)})
    check([one["rank"] for one in gathered], list(range(size)))
    check(len(gathered[-1]["text"]), 10 * (size - 1) + 3)
    told = [{"steps": 7}, "all"] if rank == 0 else [None, None]
    dist.broadcast_object_list(told, src=0)
    check(told, [{"steps": 7}, "all"])


def reductions(rank: int, size: int) -> None:
    total = size * (size + 1) // 2
    values = torch.tensor([rank + 1, 10 * (rank + 1)], device="cuda")
    dist.all_reduce(values)
    check(values.tolist(), [total, 10 * total])
    mean = torch.tensor(float(rank + 1), device="cuda")
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    check(mean.item(), total / size)
    is_any = torch.tensor(rank == size - 1, device="cuda")
    dist.all_reduce(is_any, op=dist.ReduceOp.MAX)
    check(bool(is_any), True)


def steps_until_all_are_done() -> None:
    """generate() with a limit: the loop ends by what kernels make of known values."""
    unfinished = torch.ones(4, dtype=torch.long, device="cuda")
    length = torch.zeros((), dtype=torch.long, device="cuda")
    steps = 0
    while unfinished.max() != 0:
        length += 1
        steps += 1
        unfinished = unfinished.mul((length < 5).long())
    check(steps, 5)
    check(torch.equal(torch.ones(3, device="cuda"), torch.full((3,), 1.0, device="cuda")), True)
    check(torch.arange(6, device="cuda")[torch.arange(6, device="cuda") % 2 == 0].tolist(), [0, 2, 4])
    kept = torch.arange(4, device="cuda")
    kept.add_(torch.randint(0, 9, (4,), device="cuda"))  # nobody knows what it is now
    check(kept.tolist(), [0, 0, 0, 0])


def steps_until_a_limit_beside_what_nobody_knows() -> None:
    """generate() by transformers: done at its limit, or where a token that nobody knows is the last."""
    unfinished = torch.ones(2, dtype=torch.long, device="cuda")
    tokens = torch.randint(3, 9, (2, 1), device="cuda")
    steps = 0
    while steps < 10:
        steps += 1
        done = torch.full((2,), False, device="cuda") | torch.full((2,), steps >= 4, device="cuda")
        done = done | torch.isin(tokens[:, -1], torch.tensor([2], device="cuda"))
        unfinished = unfinished & ~done
        if unfinished.max() == 0:
            break
        tokens = torch.cat([tokens, torch.randint(3, 9, (2, 1), device="cuda")], dim=1)
    check(steps, 4)
    nobody_knows = torch.randint(3, 9, (4,), device="cuda")
    ones = torch.tensor([-1], device="cuda")
    check((nobody_knows | ones).tolist(), [-1] * 4)
    check((nobody_knows * (ones + 1) + 7).tolist(), [7] * 4)
    check((nobody_knows.byte() | ones.byte()).tolist(), [255] * 4)
    check(((nobody_knows | (ones - 1)) + 7).tolist(), [0] * 4)  # its last bit nobody knows


def exchange_of_sizes(rank: int, size: int) -> None:
    """Experts on ranks: sizes, then rows of those sizes, again and again; some have none, some many."""
    rows = torch.empty(size * 400, 1024, device="cuda")
    for turn in range(3):
        sizes = [0 if (rank + to + turn) % 3 == 0 else 400 for to in range(size)]
        told = torch.empty(size, dtype=torch.long, device="cuda")
        dist.all_to_all_single(told, torch.tensor(sizes, device="cuda"))
        check(told.tolist(), [0 if (source + rank + turn) % 3 == 0 else 400 for source in range(size)])
        got = torch.empty(sum(told.tolist()), 1024, device="cuda")
        dist.all_to_all_single(got, rows[: sum(sizes)], told.tolist(), sizes)


def tokens_of_each_expert() -> None:
    """Routers of experts: what they count is known where the routes are, and only there."""
    routes = torch.arange(6 * 1024, device="cuda").reshape(2048, 3) % 8
    check(torch.histc(routes.view(-1), bins=8, min=0, max=8).tolist(), [768] * 8)
    check(torch.histc(torch.arange(10, device="cuda"), bins=3, min=0, max=9).tolist(), [3, 3, 4])
    check(torch.bincount(routes.view(-1)).view(2, 4).sum(1).tolist(), [3072, 3072])
    nobody_knows = torch.randint(0, 8, (1024,), device="cuda")
    check((torch.histc(nobody_knows, bins=8, min=0, max=8) + 7).tolist(), [0] * 8)


def main() -> None:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    objects(rank, size)
    reductions(rank, size)
    steps_until_all_are_done()
    steps_until_a_limit_beside_what_nobody_knows()
    tokens_of_each_expert()
    check(init_device_mesh("cuda", (size,)).get_local_rank(), rank)
    if size > 1:
        peer = (rank + 1) % size
        exchange_of_sizes(rank, size)
        theirs = torch.zeros(2, dtype=torch.long, device="cuda")
        mine = torch.tensor([rank, 5], device="cuda")
        operations = [dist.P2POp(dist.isend, mine, peer), dist.P2POp(dist.irecv, theirs, (rank - 1) % size)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        check(theirs.tolist(), [(rank - 1) % size, 5])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
