"""A group that is left standing, and collectives that nobody waited for, by a process that takes a second to end.

libtorch's static objects are gone by then, and its watchdog thread is not. The exit code is 1.
"""

import ctypes
import sys

own = ctypes.CDLL(None)
own.cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))  # the card's exit handlers are registered here
own.on_exit(own.sleep, None)  # called with the exit code, after the handlers of what is loaded from here on

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

dist.init_process_group("nccl", store=dist.HashStore(), world_size=1, rank=0)
numbers = torch.ones(1 << 20, device="cuda")
ctypes.pythonapi.Py_IncRef(ctypes.py_object(dist.group.WORLD))  # as FSDP may, and nobody ends its threads
works = [dist.all_reduce(numbers, async_op=True) for _ in range(3)]
print("the last line", flush=True)
sys.exit(1)
