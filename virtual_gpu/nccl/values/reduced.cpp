#include "virtual_gpu/nccl/values/reduced.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace virtual_gpu {
namespace {

// A 16-bit type, computed in FP32 and rounded after each step, like NCCL's kernels.
template <typename T>
struct Short {
  T value;
  Short() = default;
  explicit Short(float wide) : value(static_cast<T>(wide)) {}
  explicit operator float() const { return static_cast<float>(value); }
  friend Short operator+(Short a, Short b) { return Short(float(a) + float(b)); }
  friend Short operator*(Short a, Short b) { return Short(float(a) * float(b)); }
  friend bool operator<(Short a, Short b) { return float(a) < float(b); }
};

// Integers wrap, as on a card.
template <typename T>
T added(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <typename T>
T multiplied(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename T>
T combined(T a, T b, ncclRedOp_t operation) {
  switch (operation) {
    case ncclProd:
      return multiplied(a, b);
    case ncclMin:
      return std::min(a, b);
    case ncclMax:
      return std::max(a, b);
    default:
      return added(a, b);
  }
}

template <typename T>
T element(const Bytes& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// A mean of integers is divided at the end, other means are multiplied at the beginning
// (hostToDevRedOp() of NCCL's enqueue.cc).
template <typename T>
Bytes reduced_as(const std::vector<const Bytes*>& ranks, ncclRedOp_t operation) {
  const auto part = [&](size_t rank, size_t at) {
    const T value = element<T>(*ranks[rank], at);
    if constexpr (std::is_integral_v<T>) return value;
    const bool is_mean = operation == ncclAvg;
    return is_mean ? multiplied(value, T(1.0F / static_cast<float>(ranks.size()))) : value;
  };
  Bytes out = *ranks.front();
  for (size_t at = 0; at + sizeof(T) <= out.size(); at += sizeof(T)) {
    T sum = part(0, at);
    for (size_t rank = 1; rank < ranks.size(); ++rank) {
      sum = combined(sum, part(rank, at), operation);
    }
    if constexpr (std::is_integral_v<T>) {
      if (operation == ncclAvg) sum = static_cast<T>(sum / static_cast<T>(ranks.size()));
    }
    std::memcpy(out.data() + at, &sum, sizeof sum);
  }
  return out;
}

template <typename T>
Bytes multiplied_as(Bytes bytes, const Bytes& scalar) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const T product = multiplied(element<T>(bytes, at), element<T>(scalar, 0));
    std::memcpy(bytes.data() + at, &product, sizeof product);
  }
  return bytes;
}

// Calls `compute` with a value of the type; nullopt for 8-bit floating point.
template <typename Compute>
std::optional<Bytes> in_type(ncclDataType_t type, const Compute& compute) {
  switch (type) {
    case ncclInt8:
      return compute(int8_t{});
    case ncclUint8:
      return compute(uint8_t{});
    case ncclInt32:
      return compute(int32_t{});
    case ncclUint32:
      return compute(uint32_t{});
    case ncclInt64:
      return compute(int64_t{});
    case ncclUint64:
      return compute(uint64_t{});
    case ncclFloat16:
      return compute(Short<__half>{});
    case ncclBfloat16:
      return compute(Short<__nv_bfloat16>{});
    case ncclFloat32:
      return compute(float{});
    case ncclFloat64:
      return compute(double{});
    default:
      return std::nullopt;
  }
}

}  // namespace

uint64_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

std::optional<Bytes> reduced(const std::vector<const Bytes*>& ranks, ncclDataType_t type,
                             ncclRedOp_t operation) {
  return in_type(type, [&](auto value) { return reduced_as<decltype(value)>(ranks, operation); });
}

std::optional<Bytes> multiplied_by(Bytes bytes, ncclDataType_t type, const Bytes& scalar) {
  return in_type(
      type, [&](auto value) { return multiplied_as<decltype(value)>(std::move(bytes), scalar); });
}

}  // namespace virtual_gpu
