from torch.nn import functional


class FusedLayerNormAffineFunction:
    """Output, and for the backward pass the input with its mean and deviation: as PyTorch's own."""

    @staticmethod
    def forward(context, values, weight, bias, normalized_shape, eps, memory_efficient=False):
        raise NotImplementedError  # Megatron-LM looks at its arguments

    @staticmethod
    def apply(values, weight, bias, normalized_shape, eps, memory_efficient=False):
        if memory_efficient:
            raise NotImplementedError("the stand-in keeps the input")
        return functional.layer_norm(values, normalized_shape, weight, bias, eps)
