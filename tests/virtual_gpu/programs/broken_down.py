"""Small trainings whose uses of memory are known; the argument names one."""

import sys

import torch
from torch.utils.checkpoint import checkpoint

WIDTH, LAYERS, ROWS = 256, 4, 512


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Model(torch.nn.Module):
    def __init__(self, is_checkpointed=False):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.register_buffer("scale", torch.ones(1000))
        self.is_checkpointed = is_checkpointed

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.is_checkpointed else layer(x)
        return x.sum() * self.scale[0]


def batch():
    return torch.rand(ROWS, WIDTH, device="cuda")


def train(model, optimizer, steps=3, accumulate=1, dtype=None):
    for _ in range(steps):
        for _ in range(accumulate):
            with torch.autocast("cuda", dtype, enabled=dtype is not None):
                loss = model(batch())
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def adamw():
    model = Model().cuda()
    train(model, torch.optim.AdamW(model.parameters(), fused=True))


def threaded():
    torch.autograd.set_multithreading_enabled(True)
    adamw()


def checkpointed():
    model = Model(is_checkpointed=True).cuda()
    train(model, torch.optim.SGD(model.parameters(), lr=0.1))


def accumulated():
    model = Model().cuda()
    train(model, torch.optim.AdamW(model.parameters(), foreach=True), accumulate=3)


def autocast():
    model = Model().cuda()
    train(model, torch.optim.AdamW(model.parameters()), dtype=torch.bfloat16)


def masters():
    """Weights in BF16, and FP32 copies that only the optimizer has."""
    model = Model().cuda().bfloat16()
    copies = [p.detach().float().requires_grad_() for p in model.parameters()]
    optimizer = torch.optim.AdamW(copies, fused=True)
    for _ in range(3):
        model(batch().bfloat16()).backward()
        for copy, parameter in zip(copies, model.parameters(), strict=True):
            copy.grad, parameter.grad = parameter.grad.float(), None
        optimizer.step()
        optimizer.zero_grad()


class Quantized(torch.Tensor):
    """Codes in 8 bits and their scales, as torchao's tensors are."""

    @staticmethod
    def __new__(cls, codes, scales):
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=torch.float32, device=codes.device)

    def __init__(self, codes, scales):
        self.codes, self.scales = codes, scales

    def __tensor_flatten__(self):
        return ["codes", "scales"], None

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), named=None):
        if function is torch.ops.aten.detach.default:
            return cls(arguments[0].codes, arguments[0].scales)
        raise NotImplementedError(str(function))


def quantized_zeros(shape):
    codes = torch.zeros(shape, dtype=torch.int8, device="cuda")
    return Quantized(codes, torch.zeros(codes.numel() // 128, device="cuda"))


class WithoutState(torch.optim.Optimizer):
    """As torchao's CPUOffloadOptimizer, which makes others for its parameters."""

    only = None

    def __init__(self):
        WithoutState.only = self


class QuantizedSGD(torch.optim.SGD):
    def step(self, closure=None):
        for parameter in (p for group in self.param_groups for p in group["params"]):
            if not self.state[parameter]:
                self.state[parameter]["moment"] = quantized_zeros(parameter.shape)


def quantized():
    """A frozen weight in 8 bits, and the state of an optimizer in 8 bits."""
    model = Model().cuda()
    model.layers[0].frozen = torch.nn.Parameter(quantized_zeros((WIDTH, WIDTH)), requires_grad=False)
    WithoutState()
    train(model, QuantizedSGD(model.parameters(), lr=0.1))


def growing():
    model = Model().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = []
    for _ in range(3):
        train(model, optimizer, steps=1)
        kept.append(batch())  # the line that holds more and more


def in_backward():
    """A parameter is updated, and its gradient freed, as soon as it has one."""
    model = Model().cuda()
    optimizers = {p: torch.optim.AdamW([p]) for p in model.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    for _ in range(2):
        model(batch()).backward()


def line_search():
    model = Model().cuda()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = model(batch())
        loss.backward()
        return loss

    optimizer.step(closure)


def generated():
    model = Model().cuda().eval()
    with torch.no_grad():
        for _ in range(3):
            model(batch())


def compiled():
    model = Model().cuda()
    train(torch.compile(model, backend="aot_eager"), torch.optim.AdamW(model.parameters()))


def captured():
    model = Model().cuda()
    torch.cuda.make_graphed_callables(model, (batch(),))(batch()).backward()


def refused():
    """The forward asks for more than the card has."""
    model = Model().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, steps=1)
    x = batch()
    for _ in range(100):
        x = torch.cat([x, x])
        model(x).backward()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
