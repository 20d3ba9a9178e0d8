#include "profiling/theory/rehearsal/generate/generator.h"

#include <algorithm>
#include <limits>

#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// Decodes that are gone through: Note [Decodes gone through].
constexpr int64_t kMostDecodes = 256;

}  // namespace

ShapeTensor RehearsedGenerator::generate(const ShapePrompts& prompts) {
  cache_ = make_shape_cache(run_, settings_.cache);
  const int64_t count = prompts.sequences();
  ShapeTensor tokens_BT =
      empty(run_, {count, prompts.length() + settings_.response_len}, DType::kInt64);
  const int64_t at_once = settings_.cache.at_once();
  for (int64_t begin = 0; begin < count; begin += at_once) {
    Round round{.sequences = std::min(at_once, count - begin), .prompt = prompts.length()};
    prefill(round);
    decode(round);
  }
  cache_.reset();
  return tokens_BT;
}

std::vector<std::vector<RehearsedSpan>> RehearsedGenerator::chunks(const Round& round) const {
  const int64_t limit =
      settings_.prefill_chunk > 0 ? settings_.prefill_chunk : std::numeric_limits<int64_t>::max();
  std::vector<std::vector<RehearsedSpan>> passes(1);
  int64_t room = limit;
  for (int64_t row = 0; row < round.sequences; ++row) {
    for (int64_t first = 0; first < round.prompt;) {
      if (room == 0) {
        passes.emplace_back();
        room = limit;
      }
      const int64_t part = std::min(round.prompt - first, room);
      passes.back().push_back({.length = part, .first = first, .row = row});
      first += part;
      room -= part;
    }
  }
  return passes;
}

ShapeTensor RehearsedGenerator::forward(const ShapeTensor& tokens_1T, const ShapeLayout& pass) {
  model_.set_pass(&pass);
  ShapeTensor logits = squeeze(model_.forward(tokens_1T), 0);
  model_.set_pass(nullptr);
  return logits;
}

ShapeTensor RehearsedGenerator::run_chunk(const Round& round,
                                          const std::vector<RehearsedSpan>& spans) {
  int64_t tokens = 0;
  int64_t ends = 0;  // of prompts
  for (const RehearsedSpan& span : spans) {
    tokens += span.length;
    ends += span.first + span.length == round.prompt ? 1 : 0;
  }
  const ShapeTensor tokens_1T = unsqueeze(integers(run_, tokens), 0);
  cache_->begin(spans);
  ShapeLayout pass = make_shape_layout(run_, spans, cache_.get());
  pass.outputs_N = integers(run_, ends);
  return forward(tokens_1T, pass);
}

void RehearsedGenerator::prefill(Round& round) {
  std::vector<ShapeTensor> logits_NV;
  for (const std::vector<RehearsedSpan>& spans : chunks(round)) {
    logits_NV.push_back(run_chunk(round, spans));
  }
  const ShapeTensor logits_BV = logits_NV.size() == 1 ? logits_NV.front() : cat(logits_NV, 0);
  logits_NV.clear();
  round.next_B = next(logits_BV);
  take(round);
}

void RehearsedGenerator::decode(Round& round) {
  const int64_t count = settings_.response_len - 1;
  if (count == 0) return;
  model_.shorten(true);
  const int64_t stride = (count + kMostDecodes - 1) / kMostDecodes;
  for (int64_t step = (count - 1) % stride; step < count; step += stride) {
    round.next_B = next(decode_logits(round, round.prompt + step));
    take(round);
  }
  model_.shorten(false);
}

ShapeTensor RehearsedGenerator::decode_logits(const Round& round, int64_t position) {
  std::vector<RehearsedSpan> spans;
  for (int64_t row = 0; row < round.sequences; ++row) {
    spans.push_back({.length = 1, .first = position, .row = row});
  }
  cache_->begin(spans);
  const ShapeLayout pass = make_shape_layout(run_, std::move(spans), cache_.get());
  return forward(unsqueeze(round.next_B, 0), pass);
}

// Like Sampler::next().
ShapeTensor RehearsedGenerator::next(const ShapeTensor& logits_BV) const {
  if (settings_.temperature == 0) return argmax_last(logits_BV);
  ShapeTensor scaled_BV = div_scalar(to(logits_BV, DType::kFp32));
  const ShapeTensor probabilities_BV = softmax_last(scaled_BV);
  scaled_BV = {};
  const ShapeTensor arrivals_BV = empty_like(probabilities_BV, DType::kFp32);
  return argmax_last(div(probabilities_BV, arrivals_BV));
}

// Like Generator::take(), where no sequence ends.
void RehearsedGenerator::take(const Round& round) const {
  const ShapeTensor positions = integers(run_, round.sequences);
  const ShapeTensor sequences = integers(run_, round.sequences);
}

}  // namespace headroom
