// Pipeline schedules as data: what each stage does, in its order. No torch here.
//
// A model's layers are cut into stages x chunks contiguous pieces; piece number chunk * stages +
// stage is chunk `chunk` of stage `stage`. What a piece needs of others follows from its number: a
// forward the output of the piece before, a backward the gradient from the piece behind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

enum class ScheduleKind { kGpipe, k1F1B, kInterleaved };

// The setting: "gpipe", "1f1b", "interleaved:V" with V chunks of layers on each stage.
struct PipelineOrder {
  ScheduleKind kind = ScheduleKind::k1F1B;
  int64_t chunks = 1;

  bool operator==(const PipelineOrder&) const = default;
};
std::string to_string(const PipelineOrder& schedule);
// Throws UsageError on what is no setting.
PipelineOrder parse_schedule(const std::string& flag, std::string_view typed);

enum class ActionKind { kForward, kBackward };
struct Action {
  ActionKind kind = ActionKind::kForward;
  int64_t micro_batch = 0;
  int64_t chunk = 0;

  bool operator==(const Action&) const = default;
};

// Of one stage. gpipe: all forwards, then all backwards (Huang et al. 2019). 1f1b: as many forwards
// as there are stages behind, then one of each in turn (Narayanan et al. 2021, section 2.2).
// interleaved: the same of chunks (section 2.2 there, too); the stages divide the micro-batches.
std::vector<Action> actions_of(const PipelineOrder& schedule, int64_t stages, int64_t stage,
                               int64_t micro_batches);

// Layers of one of `stages` contiguous pieces. What does not divide goes to the pieces in the
// middle first: the first has the token table besides, the last the output head. They sum to
// `layers`.
int64_t layers_of_stage(int64_t layers, int64_t stages, int64_t stage);

// Layers [first, end) of a piece.
struct LayerSpan {
  int64_t first = 0;
  int64_t end = 0;

  bool operator==(const LayerSpan&) const = default;
};
LayerSpan layers_of_piece(int64_t layers, int64_t pieces, int64_t piece);

}  // namespace headroom
