"""Updates and encodings that --kernels compiled compiles: one kernel for several of ATen.

Each gives the bits of the C++ code that is named beside it; fma() is written where ATen rounds a
product and a sum once on a CPU. Tensors are flat, or (blocks, width), and overwritten in place.
Arguments after the star are numbers of the host.
"""

import torch
from torch._inductor.inductor_prims import fma


def number(value, like):
    """A number of the host in the shape, type and place of a tensor."""
    return torch.ones_like(like) * value


def lerp(start, end, weight):
    """at::lerp for a weight below 0.5."""
    return fma(number(weight, start), end - start, start)


def lion(p, g, m, *, keep, rate, weight, new_weight):
    """train/optim/lion.cpp update_one."""
    direction = torch.sign(lerp(m, g, weight))
    p.copy_(fma(direction, number(-rate, p), p * number(keep, p)))
    m.copy_(lerp(m, g, new_weight))


def adam_mini(p, g, m, denominator, *, keep, rate, weight):
    """train/optim/adam_mini.cpp update_one; the denominator is that of each block."""
    new = lerp(m, g, weight)
    m.copy_(new)
    p.copy_(p * number(keep, p) + number(-rate, p) * new / denominator)


def decoded(codes, values, scale):
    return values[codes.to(torch.int32)] * scale


def moved(p, g, m, v, keep, rate, weight, second_keep, second_weight, correction, eps):
    """Moves p by new moments, which it returns; an element without a finite gradient loses them."""
    lost = (g - g) != 0
    new_m = torch.where(lost, 0.0, lerp(m, g, weight))
    square = fma(number(second_weight, g) * g, g, v * number(second_keep, v))
    new_v = torch.where(lost, 0.0, square)
    update = new_m / (torch.sqrt(new_v) / number(correction, v) + number(eps, v))
    p.copy_(fma(update, number(-rate, p), p * number(keep, p)))
    return new_m, new_v


def encoded(x, middles):
    scale = torch.linalg.vector_norm(x, float("inf"), dim=1, keepdim=True)
    return torch.bucketize(x / scale, middles, out_int32=True).to(torch.uint8), scale


def adam8bit(p, g, m, v, m_scale, v_scale, values, positive, middles, positive_middles, *,
             keep, rate, weight, second_keep, second_weight, correction, eps):
    """train/optim/adam8bit.cpp update_chunk."""
    new = moved(p, g, decoded(m, values, m_scale), decoded(v, positive, v_scale), keep, rate, weight,
                second_keep, second_weight, correction, eps)
    for moment, codes, scale, between in zip(new, (m, v), (m_scale, v_scale),
                                             (middles, positive_middles), strict=True):
        new_codes, new_scale = encoded(moment, between)
        codes.copy_(new_codes)
        scale.copy_(new_scale)


def adam8bit_moments(p, g, m, v, m_scale, v_scale, values, positive, new_m, new_v, *,
                     keep, rate, weight, second_keep, second_weight, correction, eps):
    """The same up to the encoding, which a table does faster on a CPU."""
    made_m, made_v = moved(p, g, decoded(m, values, m_scale), decoded(v, positive, v_scale), keep,
                           rate, weight, second_keep, second_weight, correction, eps)
    new_m.copy_(made_m)
    new_v.copy_(made_v)


def round_to_bf16(fp32, random_bits, rounded):
    """train/techniques/stochastic_rounding.cpp round_stochastically; bits of 0 to 65535."""
    bits = (fp32.view(torch.int32) + random_bits) & ~0xFFFF
    rounded.copy_(torch.where(torch.isfinite(fp32), bits.view(torch.float32), fp32))


# These constants and functions convert e4m3fn in integers, as c10/util/Float8_e4m3fn.h does. Triton lacks
# the type on cards before compute capability 8.9.
BITS_OF_480 = 1087 << 20  # from here on NaN
BITS_OF_SMALLEST_NORMAL = 121 << 23  # 2**-6; below it codes are multiples of 2**-9
E4M3_NAN = 0x7F


def e4m3_code(x):
    """The nearest code, a tie to the even one, as bytes."""
    bits = x.view(torch.int32)
    magnitude = bits & 0x7FFFFFFF
    odd = (magnitude >> 20) & 1
    normal = (magnitude - (120 << 23) + 0x7FFFF + odd) >> 20
    subnormal = (x.abs() + 2.0**14).view(torch.int32) - (141 << 23)  # 2**14 has steps of 2**-9
    code = torch.where(magnitude < BITS_OF_SMALLEST_NORMAL, subnormal, normal)
    code = torch.where(magnitude < BITS_OF_480, code, E4M3_NAN)
    return (code | ((bits >> 24) & 0x80)).to(torch.uint8)


def e4m3_number(codes):
    codes = codes.to(torch.int32)
    magnitude = codes & 0x7F
    normal = ((magnitude << 20) + (120 << 23)).view(torch.float32)
    number = torch.where(magnitude < 8, magnitude.to(torch.float32) * 2.0**-9, normal)
    number = torch.where(magnitude < E4M3_NAN, number, float("nan"))
    return torch.where(codes < 0x80, number, -number)


def pack(numbers, codes, scales, *, largest_code):
    """train/techniques/activations/quantize.cpp encode; e4m3 codes are given as bytes."""
    # One reduction; the two of at::aminmax take half as long again.
    largest = numbers.to(torch.float32).abs().amax(1, keepdim=True)
    scale = torch.clamp_min(largest / number(largest_code, largest), torch.finfo(torch.float32).tiny)
    scale = scale + (largest - largest)
    scaled = numbers / scale
    if codes.dtype == torch.int8:
        codes.copy_(torch.round(scaled).to(torch.int8))
    else:
        codes.copy_(e4m3_code(scaled))
    scales.copy_(scale)


def unpack(numbers, codes, scales):
    """train/techniques/activations/quantize.cpp dequantize."""
    decoded_codes = codes.to(torch.float32) if codes.dtype == torch.int8 else e4m3_number(codes)
    numbers.copy_(decoded_codes * scales)
