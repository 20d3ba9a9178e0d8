// An operator new that fails on request of a test.
#pragma once

#include <cstdint>

namespace headroom {

// During its lifetime this thread's operator new works `count` times and then throws bad_alloc.
class FailingNew {
 public:
  explicit FailingNew(int64_t count);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
};

}  // namespace headroom
