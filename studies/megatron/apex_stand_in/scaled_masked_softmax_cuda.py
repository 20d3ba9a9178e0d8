"""Takes one output, forward and backward; the mask is read as it is."""

import scaled_softmax_cuda


def forward(scores, mask, scale):
    return scaled_softmax_cuda.forward(scores, scale)


backward = scaled_softmax_cuda.backward


def get_batch_per_block(queries, keys, batches, heads):
    """Rows that a block of 128 threads does: a warp does one row, or two of at most 128 keys."""
    columns = 1 << max(keys - 1, 0).bit_length()
    return 128 // min(columns, 32) * (2 if columns <= 128 else 1)
