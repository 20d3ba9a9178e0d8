#include "bench/cell/generation_clock.h"

#include "bench/cell/machine/device.h"
#include "train/generate/rules.h"

namespace headroom {

GenerationClock::GenerationClock(const RunSpec& spec, torch::Device device, ScopeListener* next)
    : device_(device), next_(next) {
  figures_.prompt_tokens = spec.batch_size * prompt_tokens(spec);
  figures_.decoded_tokens = spec.batch_size * (response_tokens(spec) - 1);
}

void GenerationClock::begin_step() {
  if (!is_real(device_)) return;
  figures_.prefill_ms.push_back(0);
  figures_.decode_ms.push_back(0);
}

void GenerationClock::on_scope(const Scope& scope, bool begins) {
  using Clock = std::chrono::steady_clock;
  if (!begins) next_->on_scope(scope, begins);
  if (scope.kind == ScopeKind::kPhase) {
    synchronize(device_);
    const std::chrono::duration<double, std::milli> time = Clock::now() - began_;
    std::vector<double>& all = scope.name == "prefill" ? figures_.prefill_ms : figures_.decode_ms;
    if (!begins && !all.empty()) all.back() += time.count();
    began_ = Clock::now();
  }
  if (begins) next_->on_scope(scope, begins);
}

}  // namespace headroom
