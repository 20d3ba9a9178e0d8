import torch


class FusedAdam(torch.optim.Optimizer):
    """Two states for each weight, a flag on the card, and nothing else while it steps."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, **others):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self._dummy_overflow_buf = torch.tensor([0], dtype=torch.int, device="cuda")

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["exp_avg"] = torch.zeros_like(weight).float()
                    state["exp_avg_sq"] = torch.zeros_like(weight).float()
                state["exp_avg"].add_(weight.grad)
                state["exp_avg_sq"].addcmul_(weight.grad, weight.grad)
                weight.addcdiv_(state["exp_avg"], state["exp_avg_sq"])


class FusedSGD:
    def __init__(self, *arguments, **named):
        raise NotImplementedError("the stand-in has Adam only")
