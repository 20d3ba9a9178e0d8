// Pipeline schedules as data: each stage's actions in order. No torch here.
//
// A model's layers are cut into stages x chunks contiguous pieces; piece number chunk * stages +
// stage is chunk `chunk` of stage `stage`. A piece's inputs follow from its number: a forward needs
// the output of the previous piece, a backward the gradient from the next.
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
// Throws UsageError on any other text.
PipelineOrder parse_schedule(const std::string& flag, std::string_view typed);

enum class ActionKind { kForward, kBackward };
struct Action {
  ActionKind kind = ActionKind::kForward;
  int64_t micro_batch = 0;
  int64_t chunk = 0;

  bool operator==(const Action&) const = default;
};

// The actions of one stage. gpipe: all forwards, then all backwards (Huang et al. 2019). 1f1b: one
// forward per later stage, then one of each in turn (Narayanan et al. 2021, section 2.2).
// interleaved: the same with chunks (also section 2.2); the stages must divide the micro-batches.
std::vector<Action> actions_of(const PipelineOrder& schedule, int64_t stages, int64_t stage,
                               int64_t micro_batches);

// Layers of one of `stages` contiguous pieces; they sum to `layers`. A remainder goes to the middle
// pieces first: the first piece also has the token table, the last the output head.
int64_t layers_of_stage(int64_t layers, int64_t stages, int64_t stage);

// Layers [first, end) of a piece.
struct LayerSpan {
  int64_t first = 0;
  int64_t end = 0;

  bool operator==(const LayerSpan&) const = default;
};
LayerSpan layers_of_piece(int64_t layers, int64_t pieces, int64_t piece);

}  // namespace headroom
