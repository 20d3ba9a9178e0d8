// Attaches listeners to a step while alive.
#pragma once

#include "train/step.h"

namespace headroom {

class Listening {
 public:
  Listening(Step& step, ScopeListener* scopes, MemoryTags* tags = nullptr) : step_(step) {
    step_.listen(scopes, tags);
  }
  ~Listening() { step_.listen(nullptr, nullptr); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Step& step_;
};

}  // namespace headroom
