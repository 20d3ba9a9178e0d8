"""Products under torch.compile's max-autotune, a kernel of its coordinate descent, and a Triton kernel that tunes itself."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})],
    key=["n"],
)
@triton.jit
def double(into, of, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(into + place, 2 * tl.load(of + place, mask=place < n), mask=place < n)


@torch.compile(mode="max-autotune-no-cudagraphs")
def products(a, b):
    return torch.relu(a @ b) @ b


@torch.compile(options={"coordinate_descent_tuning": True})
def shifted(a):
    return torch.relu(a) + 1


a = torch.empty(256, 256, device="cuda")
shifted(a)
print(products(a, a).shape)
out = torch.empty_like(a)
double[lambda meta: (triton.cdiv(a.numel(), meta["BLOCK"]),)](out, a, a.numel())
print(double.best_config.kwargs["BLOCK"])
