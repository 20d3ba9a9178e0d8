"""Training with BF16 weights in Python, updated by PyTorch's own AdamW.

usage: bf16_peer.py IMPLEMENTATION MASTER [flags of studies/peers]   (foreach or fused; none or fp32)

What is ours is the order of operations of studies/peers/eager_reference.py; dtypes, gradients, optimizer
and its state are PyTorch's. Rotations are FP32, by FP32 tables, and cast back. As a program it prints
the peak of its steps on a CUDA device, weights unwritten.
"""
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[4] / "studies/peers"))
import eager_reference  # noqa: E402
from measure import run_step  # noqa: E402
from workload import Batch, make_parser, parse, shape_of  # noqa: E402


class Rope(eager_reference.Rope):
    def forward(self, x_BHSN):
        return super().forward(x_BHSN).to(x_BHSN.dtype)


class Bf16Peer(eager_reference.EagerReference):
    """`weights` are FP32 and the masters' beginning; none: whatever is in memory."""

    def __init__(self, options, implementation, has_masters, weights=None):
        eager_reference.Rope = Rope
        torch.set_default_dtype(torch.bfloat16)
        with torch.device(options.device):
            self.model = eager_reference.Transformer(shape_of(options), options.context_length)
        torch.set_default_dtype(torch.float32)
        assert self.model.rope.cos.dtype == torch.float32
        named = dict(self.model.named_parameters())
        if weights is not None:
            self.model.load_state_dict(weights)
        self.masters = {}
        if has_masters:
            self.masters = {name: p.detach().float() for name, p in named.items()}
            for name, master in self.masters.items():
                if weights is not None:
                    master.copy_(weights[name])
        self.updates = torch.optim.AdamW(list((self.masters or named).values()),
                                         lr=options.learning_rate,
                                         weight_decay=options.weight_decay, **{implementation: True})
        self.step_logits = None

    @torch.no_grad()
    def optimizer_step(self):
        masters = self.masters.values()
        for master, parameter in zip(masters, self.model.parameters()):
            master.grad = parameter.grad.float()
        self.updates.step()
        for master, parameter in zip(masters, self.model.parameters()):
            master.grad = None
            parameter.copy_(master)


def main():
    implementation, master, *flags = sys.argv[1:]
    options = parse(make_parser(__doc__.splitlines()[0]), flags)
    peer = Bf16Peer(options, implementation, master == "fp32")
    size = (options.batch_size, options.context_length)
    batch = Batch(*(torch.zeros(size, dtype=torch.long, device="cuda") for _ in range(2)))
    for step in range(options.warmup_steps + options.measure_steps):
        if step == options.warmup_steps:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        run_step(peer, options, batch)
    torch.cuda.synchronize()
    print(torch.cuda.max_memory_allocated())


if __name__ == "__main__":
    main()
