// Maps an exception from a step to its status; above all, to out-of-memory.
#pragma once

#include <string>

#include "profiling/record/record.h"

namespace headroom {

struct Failure {
  Status status = Status::kFailed;
  std::string reason;  // one line
  std::string advice;  // libtorch's appended advice on its allocator's settings; "" = none
};

// The exception being handled; only inside a catch block. libtorch's own out-of-memory, a failed
// CPU allocation (a plain c10::Error), a library's status as text and std::bad_alloc are all kOom.
Failure current_failure();

}  // namespace headroom
