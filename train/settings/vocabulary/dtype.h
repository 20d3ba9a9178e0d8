// The types of numbers in memory. No torch here.
#pragma once

#include <cstdint>
#include <string>

namespace headroom {

enum class DType { kFp32, kBf16, kFp16, kFp8, kInt64, kInt32, kInt8, kUint8, kBool, kFp64 };
int64_t element_size(DType dtype);   // bytes
std::string to_string(DType dtype);  // "fp32"

}  // namespace headroom
