"""A process forked after CUDA was used cannot use it; one forked before can."""
import multiprocessing
import os
import sys

import torch


def use():
    torch.zeros(2**20, device="cuda")


context = multiprocessing.get_context("fork")
early = context.Process(target=use)
early.start()
early.join()
use()
late = context.Process(target=use)
late.start()
late.join()
print(early.exitcode, late.exitcode)
if "abort" in sys.argv:
    sys.stdout.flush()
    os.abort()
