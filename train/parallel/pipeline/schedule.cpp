#include "train/parallel/pipeline/schedule.h"

#include <algorithm>

#include "text/quantity.h"

namespace headroom {
namespace {

constexpr std::string_view kInterleavedWord = "interleaved:";
constexpr int64_t kMostChunks = 1024;

Action forward(int64_t micro_batch, int64_t chunk = 0) {
  return {ActionKind::kForward, micro_batch, chunk};
}

Action backward(int64_t micro_batch, int64_t chunk = 0) {
  return {ActionKind::kBackward, micro_batch, chunk};
}

// `ahead` forwards, then one of each in turn, then the remaining backwards.
template <typename Forward, typename Backward>
std::vector<Action> in_turn(int64_t count, int64_t ahead, const Forward& nth_forward,
                            const Backward& nth_backward) {
  ahead = std::min(ahead, count);
  std::vector<Action> actions;
  for (int64_t i = 0; i < ahead; ++i) actions.push_back(nth_forward(i));
  for (int64_t i = ahead; i < count; ++i) {
    actions.push_back(nth_forward(i));
    actions.push_back(nth_backward(i - ahead));
  }
  for (int64_t i = count - ahead; i < count; ++i) actions.push_back(nth_backward(i));
  return actions;
}

// The n-th run of a chunk: as many micro-batches as stages go through one chunk, then through the
// next one.
Action nth_of_chunks(ActionKind kind, int64_t n, int64_t stages, int64_t chunks) {
  const int64_t in_round = n % (stages * chunks);
  const int64_t chunk = in_round / stages;
  return {kind, n / (stages * chunks) * stages + n % stages,
          kind == ActionKind::kForward ? chunk : chunks - 1 - chunk};
}

}  // namespace

std::string to_string(const PipelineOrder& schedule) {
  switch (schedule.kind) {
    case ScheduleKind::kGpipe:
      return "gpipe";
    case ScheduleKind::k1F1B:
      return "1f1b";
    case ScheduleKind::kInterleaved:
      break;
  }
  return std::string(kInterleavedWord) + std::to_string(schedule.chunks);
}

PipelineOrder parse_schedule(const std::string& flag, std::string_view typed) {
  if (typed == "gpipe") return {ScheduleKind::kGpipe, 1};
  if (typed == "1f1b") return {ScheduleKind::k1F1B, 1};
  if (typed.substr(0, kInterleavedWord.size()) != kInterleavedWord) {
    throw UsageError(flag, typed, "is no schedule; allowed: gpipe, 1f1b, interleaved:V",
                     flag + " interleaved:2");
  }
  return {ScheduleKind::kInterleaved,
          parse_integer(flag + " interleaved", std::string(typed.substr(kInterleavedWord.size())),
                        2, kMostChunks)};
}

std::vector<Action> actions_of(const PipelineOrder& schedule, int64_t stages, int64_t stage,
                               int64_t micro_batches) {
  const int64_t behind = stages - stage - 1;
  const auto nth_forward = [](int64_t n) { return forward(n); };
  const auto nth_backward = [](int64_t n) { return backward(n); };
  switch (schedule.kind) {
    case ScheduleKind::kGpipe:
      return in_turn(micro_batches, micro_batches, nth_forward, nth_backward);
    case ScheduleKind::k1F1B:
      return in_turn(micro_batches, behind, nth_forward, nth_backward);
    case ScheduleKind::kInterleaved:
      break;
  }
  const int64_t chunks = schedule.chunks;
  const int64_t count = micro_batches * chunks;
  const int64_t ahead = micro_batches == stages ? count : 2 * behind + (chunks - 1) * stages;
  return in_turn(
      count, ahead,
      [&](int64_t n) { return nth_of_chunks(ActionKind::kForward, n, stages, chunks); },
      [&](int64_t n) { return nth_of_chunks(ActionKind::kBackward, n, stages, chunks); });
}

int64_t layers_of_stage(int64_t layers, int64_t stages, int64_t stage) {
  const int64_t extra = layers % stages;
  // Turn in which a stage gets one of the extra layers: the middle, then the last, then the first.
  const int64_t turn = stage == 0 ? stages - 1 : stage - 1;
  return layers / stages + (turn < extra ? 1 : 0);
}

LayerSpan layers_of_piece(int64_t layers, int64_t pieces, int64_t piece) {
  LayerSpan span;
  for (int64_t i = 0; i < piece; ++i) span.first += layers_of_stage(layers, pieces, i);
  span.end = span.first + layers_of_stage(layers, pieces, piece);
  return span;
}

}  // namespace headroom
