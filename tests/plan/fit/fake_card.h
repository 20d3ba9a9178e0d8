// A simulated card: the needs of runs, and the card's verdicts, are given.
#pragma once

#include <map>

#include "plan/fit/search.h"

namespace headroom {

// The need in bytes by a rule, lowered by every technique.
struct FakeCard {
  int64_t capacity = 1000;
  std::optional<int64_t> host_limit;
  std::function<int64_t(const RunSpec&)> host = [](const RunSpec&) { return 0; };
  std::function<int64_t(const RunSpec&)> need;
  std::function<Fits(const RunSpec&, Fits by_theory)>
      said;                                 // the card's own verdict; empty = theory's
  mutable std::map<std::string, int> runs;  // how often each was run
  mutable bool stops = false;

  FitOracle oracle() const {
    FitOracle oracle;
    oracle.capacity = capacity;
    oracle.host_limit = host_limit;
    oracle.host = host;
    oracle.floor = [this](const RunSpec& spec) { return need(spec) * 9 / 10; };
    oracle.need = need;
    oracle.fits = [this](const RunSpec& spec) { return need(spec) <= capacity; };
    oracle.run = [this](const RunSpec& spec) { return run(spec); };
    oracle.stopped = [this] { return stops; };
    return oracle;
  }

  Verdict run(const RunSpec& spec) const {
    ++runs[row_name(spec)];
    Verdict verdict;
    verdict.fits = need(spec) <= capacity ? Fits::kYes : Fits::kNo;
    if (host_limit && host(spec) > *host_limit && verdict.fits == Fits::kYes) {
      verdict.fits = Fits::kNo;
      verdict.of_host = true;
    }
    if (said) verdict.fits = said(spec, verdict.fits);
    Record record{.spec = spec};
    record.status = Status::kOk;
    record.peak = MemoryBytes{need(spec), need(spec), need(spec)};
    if (verdict.fits != Fits::kYes) verdict.reason = "full";
    verdict.record = std::make_shared<const Record>(std::move(record));
    return verdict;
  }
};

// States and the blocks' saved tensors, if offloaded.
inline int64_t plain_host(const RunSpec& spec) {
  return (spec.optimizer_offload.any() ? 500 : 0) +
         (spec.activations.offloaded() ? 10 * spec.batch_size : 0);
}

// A run as small as a search allows.
inline RunSpec fake_run() {
  return {.model_size = "small",
          .context_length = 128,
          .batch_size = 4,
          .profile_type = Mode::kTraining,
          .device = {.kind = DeviceKind::kVirtual, .card = "rtx4090"}};
}

inline FitQuestion question_of(Open open = Open::kNothing) {
  FitQuestion question{.base = fake_run(), .techniques = technique_list(fake_run())};
  question.open = open;
  question.most = open == Open::kContext ? 4096 : 1 << 20;
  if (open == Open::kBatch) {
    std::erase_if(question.techniques, [](const RunTechnique& technique) {
      return technique.technique == Technique::kMicroBatches;
    });
  }
  return question;
}

// States by optimizer and weights, activations by all techniques that reduce them.
inline int64_t plain_need(const RunSpec& spec) {
  int64_t states = spec.optimizer_offload.any() ? 150 : 400;
  if (spec.optimizer == OptimizerKind::kAdam8bit) states -= 100;
  if (spec.optimizer == OptimizerKind::kAdamMini) states -= 90;
  if (spec.optimizer == OptimizerKind::kLion) states -= 80;
  if (spec.optimizer == OptimizerKind::kSgd) states -= 70;
  if (spec.weights == WeightType::kBf16) states -= spec.rounding == Rounding::kStochastic ? 120 : 0;
  if (spec.release_gradients) states -= 60;
  int64_t each = 60;
  if (spec.attention != Attention::kEager) each -= 10;
  if (spec.precision != Precision::kFp32 || spec.weights == WeightType::kBf16) each -= 15;
  if (!spec.activations.exact()) each -= 8;
  if (spec.checkpoint.kind == CheckpointKind::kSelective) each -= 8;
  if (spec.checkpoint.kind == CheckpointKind::kFull) each -= 20;
  const int64_t sequences = spec.batch_size / spec.micro_batches;
  return states + each * sequences * spec.context_length / 128;
}

}  // namespace headroom
