"""--skip-host-init: random weights are not drawn on the host.

Note [Host initialization]
Rationale: a program that initializes its weights on the host and then moves them to a card pays
  memory and time for values that a virtual card does not keep: 13 GB and 100 s for 2.7B.
Approach: torch.nn.init's functions and the random fills of torch.Tensor return a large tensor of
  the host as it is. Its pages are never touched, and a copy to a virtual card reads none. Sizes,
  types and the order of allocations on the card stay as they are. A deep copy of a large parameter
  (nn.TransformerEncoder makes its layers so) is as empty.
Limits: other tensors of 1 MiB and more that are filled so hold what memory held, which is zeros
  where it is fresh; a program that looks at them sees that. torch.randn, a multiplication by a
  scale and a cast on the host write as before. Python only.
"""

import functools

ENOUGH = 1 << 20  # bytes; what is smaller costs little
FILLS = ("normal_", "uniform_", "log_normal_", "exponential_", "cauchy_")
INITIALIZERS = (
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
)
skipped_bytes = 0


def skip(torch):
    kinds = (torch.Tensor, torch.nn.Parameter)

    def is_skipped(tensor):
        global skipped_bytes
        if type(tensor) not in kinds or tensor.device.type != "cpu" or tensor.nbytes < ENOUGH:
            return False
        skipped_bytes += tensor.nbytes
        return True

    def skipping(function):
        @functools.wraps(function)
        def unless_large(*arguments, **keywords):
            tensor = arguments[0] if arguments else keywords.get("tensor")
            return tensor if is_skipped(tensor) else function(*arguments, **keywords)

        return unless_large

    for holder, names in ((torch.Tensor, FILLS), (torch.nn.init, INITIALIZERS)):
        for name in names:
            setattr(holder, name, skipping(getattr(holder, name)))

    copied = torch.nn.Parameter.__deepcopy__

    @functools.wraps(copied)
    def copied_unless_large(self, memo):
        if id(self) in memo or not is_skipped(self):
            return copied(self, memo)
        memo[id(self)] = torch.nn.Parameter(torch.empty_like(self.data), self.requires_grad)
        return memo[id(self)]

    torch.nn.Parameter.__deepcopy__ = copied_unless_large
