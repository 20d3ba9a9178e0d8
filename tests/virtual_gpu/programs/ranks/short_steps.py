"""Steps of a millisecond, each with a collective that only a wait for the whole card ends. Prints the bytes after each step."""

import os

import torch
import torch.distributed as dist

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
world = dist.get_world_size()
for _ in range(20):
    own = torch.ones(1 << 20, device="cuda")
    gathered = [torch.empty_like(own) for _ in range(world)]
    dist.all_gather(gathered, own, async_op=True)  # into a flat buffer of all ranks first
    del own, gathered
    torch.cuda.synchronize()
    print("left:", torch.cuda.memory_allocated())
dist.destroy_process_group()
