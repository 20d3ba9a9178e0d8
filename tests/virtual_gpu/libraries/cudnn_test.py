#!/usr/bin/env python3
"""cuDNN on the virtual GPU, through PyTorch.

Run with the virtual GPU preloaded and HEADROOM_VIRTUAL_CARD set. What is chosen depends on the
card's compute capability: run it with 8.0, 9.0 and 10.0.
"""

import gc
import time
import unittest
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
CAPABILITY = torch.cuda.get_device_capability()
HAS_CUDNN_ATTENTION = CAPABILITY[0] in (9, 10)
DEFAULT = "Cudnn" if HAS_CUDNN_ATTENTION else "Flash"


def attention_inputs(batch, heads, tokens, width, dtype, key_heads=None):
    def one(count):
        data = torch.empty(batch, tokens, count, width, device="cuda", dtype=dtype)
        return data.transpose(1, 2).requires_grad_()
    return one(heads), one(key_heads or heads), one(key_heads or heads)


def attend(inputs, **options):
    """The backend that autograd recorded, after a backward pass."""
    out = F.scaled_dot_product_attention(*inputs, **options)
    node = out.grad_fn
    while not node.name().startswith("ScaledDotProduct"):  # a slice of a padded width
        node = node.next_functions[0][0]
    name = node.name()
    out.backward(torch.empty_like(out))
    return name.removeprefix("ScaledDotProduct").removesuffix("AttentionBackward0")


def allocated():
    """Bytes, once autograd's thread has let go of what it held."""
    gc.collect()
    torch.cuda.synchronize()
    time.sleep(0.05)
    return torch.cuda.memory_allocated()


def backward_bytes(inputs, **options):
    """The most that a backward pass allocates, beyond its own gradients."""
    out = F.scaled_dot_product_attention(*inputs, **options)
    gradient = torch.empty_like(out)
    before = allocated()
    torch.cuda.reset_peak_memory_stats()
    out.backward(gradient)
    kept = sum(tensor.numel() * tensor.element_size() for tensor in inputs)
    return torch.cuda.max_memory_allocated() - before - kept


def step(module, *inputs):
    out = module(*inputs)
    (out[0] if isinstance(out, tuple) else out).sum().backward()
    return out


class Attention(unittest.TestCase):
    def test_half_precision_chooses_what_the_card_chooses(self):
        for dtype in (BF16, FP16):
            for width in (64, 80, 128):
                with self.subTest(dtype=dtype, width=width):
                    inputs = attention_inputs(2, 4, 256, width, dtype)
                    self.assertEqual(attend(inputs, is_causal=True), DEFAULT)

    def test_full_precision_never_chooses_cudnn(self):
        self.assertEqual(attend(attention_inputs(2, 4, 256, 64, FP32), is_causal=True), "Efficient")

    def test_a_width_that_is_no_multiple_of_8_never_chooses_cudnn(self):
        self.assertEqual(attend(attention_inputs(2, 4, 256, 100, BF16), is_causal=True), "Flash")

    def test_every_backend_runs_forward_and_backward(self):
        wanted = {SDPBackend.FLASH_ATTENTION: "Flash", SDPBackend.EFFICIENT_ATTENTION: "Efficient",
                  SDPBackend.CUDNN_ATTENTION: "Cudnn"}
        for backend, name in wanted.items():
            with self.subTest(name), sdpa_kernel(backend):
                self.assertEqual(attend(attention_inputs(1, 4, 128, 64, BF16)), name)
        with sdpa_kernel(SDPBackend.MATH):
            step(lambda: F.scaled_dot_product_attention(*attention_inputs(1, 4, 128, 64, FP32)))

    def test_masks_dropout_and_grouped_queries_run(self):
        mask = torch.zeros(1, 1, 128, 128, device="cuda", dtype=BF16)
        for options in ({"attn_mask": mask}, {"attn_mask": mask.bool()}, {"dropout_p": 0.1}):
            attend(attention_inputs(1, 4, 128, 64, BF16), **options)
        inputs = attention_inputs(1, 8, 128, 64, BF16, key_heads=2)
        self.assertEqual(attend(inputs, is_causal=True, enable_gqa=True), DEFAULT)

    @unittest.skipUnless(CAPABILITY == (9, 0), "the engine of compute capability 9.0")
    def test_the_backward_workspace_is_the_plans_and_the_frontends(self):
        """FP32 gradients of the queries and sums of the rows (cudnn_frontend's own), and 256 B that
        cuDNN 9.19's plan asks for, which the allocator rounds to 512 together with them."""
        batch, heads, tokens, width = 4, 32, 512, 64
        inputs = attention_inputs(batch, heads, tokens, width, BF16)
        rows = batch * heads * tokens
        self.assertEqual(backward_bytes(inputs, is_causal=True),
                         rows * width * 4 + rows * 4 + 512)

    @unittest.skipUnless(HAS_CUDNN_ATTENTION, "no cuDNN attention by default")
    def test_grouped_queries_need_a_plan_workspace(self):
        plain = backward_bytes(attention_inputs(2, 16, 512, 128, BF16), is_causal=True)
        inputs = attention_inputs(2, 16, 512, 128, BF16, key_heads=4)
        grouped = backward_bytes(inputs, is_causal=True, enable_gqa=True)
        self.assertGreater(grouped, plain)

    def test_every_device_plans(self):
        for ordinal in range(torch.cuda.device_count()):
            with torch.cuda.device(ordinal):
                self.assertEqual(attend(attention_inputs(1, 4, 128, 64, BF16)), DEFAULT)


class Layers(unittest.TestCase):
    def test_convolutions_run_forward_and_backward(self):
        for dtype in (FP32, FP16, BF16):
            for memory_format in (torch.contiguous_format, torch.channels_last):
                layer = nn.Conv2d(64, 128, 3, padding=1).to("cuda", dtype)
                layer = layer.to(memory_format=memory_format)
                data = torch.empty(4, 64, 28, 28, device="cuda", dtype=dtype)
                out = step(layer, data.to(memory_format=memory_format).requires_grad_())
                self.assertEqual(out.shape, (4, 128, 28, 28))
                self.assertTrue(out.is_contiguous(memory_format=memory_format))

    def test_other_convolutions_run(self):
        for layer, shape in ((nn.Conv1d(8, 16, 3), (2, 8, 50)),
                             (nn.Conv3d(8, 16, 3), (2, 8, 9, 9, 9)),
                             (nn.ConvTranspose2d(8, 16, 3), (2, 8, 9, 9)),
                             (nn.Conv2d(8, 8, 3, groups=8), (2, 8, 9, 9)),
                             (nn.Conv2d(8, 16, 1), (2, 8, 9, 9))):
            step(layer.cuda(), torch.empty(*shape, device="cuda", requires_grad=True))

    def test_timed_convolutions_run(self):
        with torch.backends.cudnn.flags(enabled=True, benchmark=True):
            step(nn.Conv2d(8, 16, 3).cuda(), torch.empty(2, 8, 19, 19, device="cuda"))

    def test_batch_norm_is_cudnns_in_full_precision(self):
        for dtype, name in ((FP32, "CudnnBatchNormBackward0"), (BF16, "NativeBatchNormBackward0")):
            for training in (True, False):
                layer = nn.BatchNorm2d(8).cuda().train(training)
                data = torch.empty(2, 8, 9, 9, device="cuda", dtype=dtype, requires_grad=True)
                self.assertEqual(step(layer, data).grad_fn.name(), name)

    def test_attention_modules_run(self):
        data = torch.empty(2, 128, 256, device="cuda")
        heads = nn.MultiheadAttention(256, 4, batch_first=True).cuda()
        step(heads, data, data, data)
        heads.to(BF16)
        half = data.to(BF16)
        step(lambda: heads(half, half, half, need_weights=False))
        step(nn.TransformerEncoderLayer(256, 4, batch_first=True).cuda(), data)

    def test_grid_sampling_runs(self):
        grid = F.affine_grid(torch.empty(2, 2, 3, device="cuda", requires_grad=True), (2, 3, 8, 8),
                             align_corners=True)
        step(lambda: F.grid_sample(torch.empty(2, 3, 8, 8, device="cuda", requires_grad=True), grid,
                                   align_corners=True))

    def test_a_captured_graph_replays(self):
        layer = nn.Conv2d(8, 8, 3).to("cuda", BF16)
        image = torch.empty(2, 8, 16, 16, device="cuda", dtype=BF16)
        inputs = attention_inputs(1, 4, 128, 64, BF16)

        def forward():
            layer(image)
            F.scaled_dot_product_attention(*inputs, is_causal=True)

        forward()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            forward()
        graph.replay()


def requested():
    """Bytes that programs asked for, before the allocator rounds."""
    allocated()
    return torch.cuda.memory_stats()["requested_bytes.all.current"]


class Recurrent(unittest.TestCase):
    """Of nn.LSTM, nn.GRU and nn.RNN."""

    def test_the_reserve_space_is_that_of_a_real_card(self):
        """pytorch/pytorch issue 2895 prints it for 4 layers of 320, of 123 features, and 25,000
        tokens; cuDNN 9 adds 256 bytes. An LSTM has two states, before and after."""
        layers, tokens, batch, features, width = 4, 1000, 25, 123, 320
        for kind, states, published in ((nn.LSTM, 4, 736_000_000), (nn.GRU, 2, 864_000_000)):
            network = kind(features, width, layers).cuda()
            data = torch.empty(tokens, batch, features, device="cuda")
            before = requested()
            out = network(data)
            kept = requested() - before
            self.assertEqual(kept, published + 256 + tokens * batch * width * 4 +
                             states * layers * batch * width * 4)
            del out

    def test_every_kind_runs_in_every_precision(self):
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            for dtype in (FP32, FP16, BF16):
                with self.subTest(kind, dtype=dtype):
                    network = kind(32, 64, 2).to("cuda", dtype)
                    out, _ = step(network, torch.empty(16, 8, 32, device="cuda", dtype=dtype))
                    self.assertEqual(out.shape, (16, 8, 64))
                    self.assertEqual(network.weight_ih_l0.grad.shape, network.weight_ih_l0.shape)

    def test_directions_dropout_projections_and_packed_sequences_run(self):
        data = torch.empty(16, 8, 32, device="cuda")
        out, _ = step(nn.LSTM(32, 64, 2, dropout=0.1, bidirectional=True, proj_size=8).cuda(), data)
        self.assertEqual(out.shape, (16, 8, 16))
        out, _ = step(nn.GRU(32, 64, 3, dropout=0.5, bias=False, batch_first=True).cuda(), data)
        self.assertEqual(out.shape, (16, 8, 64))
        packed = nn.utils.rnn.pack_padded_sequence(data, torch.arange(16, 0, -2))
        nn.LSTM(32, 64).cuda()(packed)[0].data.sum().backward()

    def test_the_weights_lie_where_a_real_card_has_them(self):
        """In one buffer, at the offsets that pytorch/pytorch issue 57632 prints."""
        weights = list(nn.LSTM(512, 100).cuda().parameters())
        self.assertEqual([weight.storage_offset() for weight in weights],
                         [0, 204800, 244800, 245200])
        for weight in weights:
            self.assertEqual(weight.untyped_storage().size(), 245600 * 4)
            self.assertEqual(weight.untyped_storage().data_ptr(),
                             weights[0].untyped_storage().data_ptr())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    unittest.main()
