"""A block and the head with its loss as torch's compiler reads them: the arithmetic of model/*.cpp.

Parameters are passed in the order of BLOCK and HEAD, tables as (S, R). Shape suffixes: model/layers.h.
The test compiled_block holds values and gradients equal to those of the C++ modules in FP64.
"""

import math

import torch
from torch.nn.functional import linear, scaled_dot_product_attention

BLOCK = ("attn.q_proj.weight", "attn.k_proj.weight", "attn.v_proj.weight", "attn.output_proj.weight",
         "ffn.w1.weight", "ffn.w2.weight", "ffn.w3.weight", "ln1.weight", "ln2.weight")
HEAD = ("ln_final.weight", "lm_head.weight")


def rms_norm(x_BSD, weight, eps):
    x = x_BSD.to(torch.promote_types(x_BSD.dtype, torch.float32))
    x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return (weight * x).to(x_BSD.dtype)


def rotate(x_BHSK, cos_SR, sin_SR):
    pairs = x_BHSK.unflatten(-1, (-1, 2))
    even, odd = pairs[..., 0], pairs[..., 1]
    return torch.cat((cos_SR * even - sin_SR * odd, sin_SR * even + cos_SR * odd), -1)


def eager_attention(q_BHSK, k_BGTK, v_BGTK):
    repeats = q_BHSK.size(1) // k_BGTK.size(1)
    k_BHTK, v_BHTK = (x.repeat_interleave(repeats, 1) if repeats > 1 else x for x in (k_BGTK, v_BGTK))
    scores = q_BHSK @ k_BHTK.transpose(-1, -2) / math.sqrt(q_BHSK.size(-1))
    positions = torch.arange(scores.size(-1), device=scores.device)
    scores = torch.where(positions[:, None] >= positions, scores, -math.inf)
    exp = torch.exp(scores - scores.max(-1, keepdim=True).values)
    return exp / exp.sum(-1, keepdim=True) @ v_BHTK


def attention(x_BSD, q_proj, k_proj, v_proj, output_proj, cos_SR, sin_SR, fused):
    q, k, v = (linear(x_BSD, weight).unflatten(-1, (-1, 2 * cos_SR.size(-1))).transpose(1, 2)
               for weight in (q_proj, k_proj, v_proj))
    q, k = (rotate(x, cos_SR, sin_SR).to(x_BSD.dtype) for x in (q, k))
    if fused:
        heads = scaled_dot_product_attention(q, k, v, is_causal=True,
                                             enable_gqa=k.size(1) != q.size(1))
    else:
        heads = eager_attention(q, k, v)
    return linear(heads.transpose(1, 2).flatten(2), output_proj)


def block(settings, x_BSD, q_proj, k_proj, v_proj, output_proj, w1, w2, w3, ln1, ln2, cos, sin):
    """(B, S, D) -> (B, S, D)."""
    eps = settings["norm_eps"]
    x_BSD = x_BSD + attention(rms_norm(x_BSD, ln1, eps), q_proj, k_proj, v_proj, output_proj, cos,
                              sin, settings["attention"] == "sdpa")
    y_BSD = rms_norm(x_BSD, ln2, eps)
    gate_BSF = linear(y_BSD, w1)
    return x_BSD + linear(gate_BSF * torch.sigmoid(gate_BSF) * linear(y_BSD, w3), w2)


def head_loss(settings, x_BSD, ln_final, lm_head, targets_BS):
    """The last block's output, (B, S, D), and the tokens that follow, (B, S) int64 -> the mean loss."""
    logits_BSV = linear(rms_norm(x_BSD, ln_final, settings["norm_eps"]), lm_head)
    shifted_BSV = logits_BSV - logits_BSV.max(-1, keepdim=True).values
    log_probabilities = shifted_BSV - torch.log(torch.exp(shifted_BSV).sum(-1, keepdim=True))
    return -log_probabilities.gather(-1, targets_BS.unsqueeze(-1)).mean()
