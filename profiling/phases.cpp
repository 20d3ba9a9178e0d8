#include "profiling/phases.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <unordered_set>

#include "train/step.h"

namespace headroom {
namespace {

// RecordFunction takes plain function pointers, so the one live listener of each kind is reached
// through these.
ScopeListener::Callback* active_scope_callback = nullptr;

struct CastTargets {
  MemoryTracker* tracker;
  std::unordered_set<const void*> parameters;
};
CastTargets* active_cast_targets = nullptr;

MemoryBytes highest(const MemoryBytes& a, const MemoryBytes& b) {
  return {std::max(a.allocated, b.allocated), std::max(a.reserved, b.reserved),
          std::max(a.requested, b.requested)};
}

std::unique_ptr<at::ObserverContext> scope_started(const at::RecordFunction& function) {
  if (active_scope_callback != nullptr) (*active_scope_callback)(function.name(), true);
  return nullptr;
}
void scope_ended(const at::RecordFunction& function, at::ObserverContext*) {
  if (active_scope_callback != nullptr) (*active_scope_callback)(function.name(), false);
}

bool casts_parameter(const at::RecordFunction& function) {
  if (active_cast_targets == nullptr) return false;
  if (std::string_view(function.name()) != "aten::_to_copy") return false;
  const auto inputs = function.inputs();
  if (inputs.empty() || !inputs[0].isTensor()) return false;
  const at::Tensor& source = inputs[0].toTensor();
  return source.defined() && source.has_storage() &&
         active_cast_targets->parameters.count(source.storage().data()) > 0;
}

// Exists from the start to the end of an operation that casts a parameter; by the end, the
// operation's inputs are gone and could not be asked again.
struct CastInProgress : at::ObserverContext {
  CastInProgress() { active_cast_targets->tracker->set_hint(Hint::kCastOfParameter); }
  ~CastInProgress() override {
    if (active_cast_targets != nullptr) active_cast_targets->tracker->set_hint(Hint::kNone);
  }
};

std::unique_ptr<at::ObserverContext> operation_started(const at::RecordFunction& function) {
  if (casts_parameter(function)) return std::make_unique<CastInProgress>();
  return nullptr;
}
void operation_ended(const at::RecordFunction&, at::ObserverContext*) {}

}  // namespace

ScopeListener::ScopeListener(Callback callback) {
  TORCH_INTERNAL_ASSERT(active_scope_callback == nullptr, "one ScopeListener at a time");
  active_scope_callback = new Callback(std::move(callback));
  handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&scope_started, &scope_ended)
                                      .scopes({at::RecordScope::USER_SCOPE}));
}

ScopeListener::~ScopeListener() {
  at::removeCallback(handle_);
  delete active_scope_callback;
  active_scope_callback = nullptr;
}

PhasePeaks::PhasePeaks(MemoryTracker& tracker)
    : tracker_(tracker),
      listener_([this](const std::string& name, bool is_start) { on_scope(name, is_start); }) {
  tracker_.reset_peak();
}

void PhasePeaks::on_scope(const std::string& name, bool is_start) {
  const bool is_phase = std::any_of(std::begin(kPhases), std::end(kPhases),
                                    [&](const char* phase) { return name == phase; });
  if (!is_phase) return;
  const MemoryBytes peak = tracker_.peak();
  overall_ = highest(overall_, peak);
  if (is_start) {
    tracker_.reset_peak();
    if (phases_.try_emplace(name).second) order_.push_back(name);
  } else {
    phases_[name] = highest(phases_[name], peak);
  }
}

MemoryBytes PhasePeaks::overall() const { return highest(overall_, tracker_.peak()); }

CastListener::CastListener(MemoryTracker& tracker, const std::vector<torch::Tensor>& parameters) {
  TORCH_INTERNAL_ASSERT(active_cast_targets == nullptr, "one CastListener at a time");
  active_cast_targets = new CastTargets{&tracker, {}};
  for (const torch::Tensor& parameter : parameters) {
    active_cast_targets->parameters.insert(parameter.storage().data());
  }
  handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&operation_started, &operation_ended)
                                      .needsInputs(true)
                                      .scopes({at::RecordScope::FUNCTION}));
}

CastListener::~CastListener() {
  at::removeCallback(handle_);
  delete active_cast_targets;
  active_cast_targets = nullptr;
}

}  // namespace headroom
