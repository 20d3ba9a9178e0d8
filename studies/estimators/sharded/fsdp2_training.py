"""A model under FSDP2 and one of its steps: what is run, and what FSDP2MemTracker is given."""

from __future__ import annotations

import estimator_modules  # noqa: F401
import torch
from llama import Llama
from shapes import meta_model
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.functional import cross_entropy


def sharded_model(options, mesh: DeviceMesh) -> Llama:
    """Layer by layer, as PyTorch's tutorial has it, its shards on the mesh's device, unwritten."""
    model = meta_model(options)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model.to_empty(device=mesh.device_type)


def make_optimizer(model: Llama) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)


def run_step(
    model: Llama, optimizer: torch.optim.Optimizer, tokens_BS: torch.Tensor
) -> None:
    loss = cross_entropy(model(tokens_BS).flatten(0, 1).float(), tokens_BS.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
