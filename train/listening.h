// Listens to a step while alive.
#pragma once

#include "train/step.h"

namespace headroom {

class Listening {
 public:
  Listening(Step& step, ScopeListener* scopes, MemoryClaims* claims = nullptr) : step_(step) {
    step_.listen(scopes, claims);
  }
  ~Listening() { step_.listen(nullptr, nullptr); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Step& step_;
};

}  // namespace headroom
