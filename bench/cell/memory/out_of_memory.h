// What an exception out of a step means for its result; above all, whether memory ran out.
#pragma once

#include <string>

#include "profiling/record/record.h"

namespace headroom {

struct Failure {
  Status status = Status::kFailed;
  std::string reason;  // one line
  std::string advice;  // libtorch's own on settings of its allocator, which it appends; "" = none
};

// Only inside a catch block: the exception being handled. libtorch's own out-of-memory, a CPU
// tensor that cannot be had (a plain c10::Error), a library's status as text and std::bad_alloc are
// all kOom.
Failure current_failure();

}  // namespace headroom
