#include "virtual_gpu/nccl/reduced.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace virtual_gpu {
namespace {

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
Bytes reduced_as(const std::vector<const Bytes*>& ranks, ncclRedOp_t operation) {
  Bytes out = *ranks.front();
  for (size_t at = 0; at + sizeof(T) <= out.size(); at += sizeof(T)) {
    T sum;
    std::memcpy(&sum, out.data() + at, sizeof sum);
    for (size_t rank = 1; rank < ranks.size(); ++rank) {
      T other;
      std::memcpy(&other, ranks[rank]->data() + at, sizeof other);
      sum = combined(sum, other, operation);
    }
    if (operation == ncclAvg) sum = static_cast<T>(sum / static_cast<T>(ranks.size()));
    std::memcpy(out.data() + at, &sum, sizeof sum);
  }
  return out;
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
  if (operation >= ncclNumOps) return std::nullopt;
  switch (type) {
    case ncclInt8:
      return reduced_as<int8_t>(ranks, operation);
    case ncclUint8:
      return reduced_as<uint8_t>(ranks, operation);
    case ncclInt32:
      return reduced_as<int32_t>(ranks, operation);
    case ncclUint32:
      return reduced_as<uint32_t>(ranks, operation);
    case ncclInt64:
      return reduced_as<int64_t>(ranks, operation);
    case ncclUint64:
      return reduced_as<uint64_t>(ranks, operation);
    case ncclFloat32:
      return reduced_as<float>(ranks, operation);
    case ncclFloat64:
      return reduced_as<double>(ranks, operation);
    default:
      return std::nullopt;
  }
}

}  // namespace virtual_gpu
