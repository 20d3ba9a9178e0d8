#include "train/hooks/scope.h"

#include <ATen/record_function.h>

#include <utility>

namespace headroom {

StepScope::StepScope(ScopeListener* listener, Scope scope)
    : listener_(listener), scope_(std::move(scope)) {
  if (auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE)) {
    range_ = std::make_unique<at::RecordFunction>(std::move(*callbacks));
    range_->before(scope_.text());
  }
  if (listener_ != nullptr) listener_->on_scope(scope_, /*begins=*/true);
}

StepScope::~StepScope() {
  if (listener_ != nullptr) listener_->on_scope(scope_, /*begins=*/false);
}

}  // namespace headroom
