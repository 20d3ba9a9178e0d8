// operator new that fails when a test says so.
#pragma once

#include <cstdint>

namespace headroom {

// While it lives, the operator new of this thread works `count` times and then throws bad_alloc.
class FailingNew {
 public:
  explicit FailingNew(int64_t count);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
};

}  // namespace headroom
