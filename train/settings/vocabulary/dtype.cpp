#include "train/settings/vocabulary/dtype.h"

namespace headroom {

int64_t element_size(DType dtype) {
  switch (dtype) {
    case DType::kFp64:
    case DType::kInt64:
      return 8;
    case DType::kFp32:
    case DType::kInt32:
      return 4;
    case DType::kBf16:
    case DType::kFp16:
      return 2;
    case DType::kFp8:
    case DType::kInt8:
    case DType::kBool:
    case DType::kUint8:
      return 1;
  }
  return 0;
}

std::string to_string(DType dtype) {
  switch (dtype) {
    case DType::kFp32:
      return "fp32";
    case DType::kBf16:
      return "bf16";
    case DType::kFp16:
      return "fp16";
    case DType::kFp8:
      return "fp8";
    case DType::kInt64:
      return "int64";
    case DType::kInt32:
      return "int32";
    case DType::kInt8:
      return "int8";
    case DType::kBool:
      return "bool";
    case DType::kUint8:
      return "uint8";
    case DType::kFp64:
      return "fp64";
  }
  return "?";
}

}  // namespace headroom
