"""Faults of a rank, on two of them, as torchrun starts it.

usage: rank_faults.py memory | killed | never | waits FILE
"""

import datetime
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist


def main() -> None:
    kind = sys.argv[1]
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=20))
    known = torch.ones(4, device="cuda")
    dist.all_reduce(known)
    if kind == "memory" and rank == 1:
        torch.empty(200 << 30, dtype=torch.uint8, device="cuda")
    if kind == "killed" and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "never" and rank == 1:
        time.sleep(600)
    if kind == "waits":
        Path(f"{sys.argv[2]}.{rank}").touch()
    # The other waits here for what never comes.
    if kind != "waits" or rank == 0:
        dist.all_reduce(known)
        print(known.tolist())
    time.sleep(600)


if __name__ == "__main__":
    main()
