#include "profiling/theory/host_parameters.h"

#include <algorithm>

#include "profiling/theory/host_update.h"
#include "profiling/theory/parameters.h"
#include "train/gradient_rules.h"
#include "train/offload/host_ranges.h"
#include "train/offload/resident_blocks.h"

namespace headroom {
namespace {

class CountedBlocks final : public ResidentBlocks {
 public:
  explicit CountedBlocks(int64_t layers) {
    for (int64_t i = 0; i < layers; ++i) add();
  }
  const BlockMoves& moves() const { return moves_; }

 private:
  void fetch(int64_t) override {
    ++moves_.fetches;
    moves_.most = std::max(moves_.most, ++there_);
  }
  void drop(int64_t) override { --there_; }

  BlockMoves moves_;
  int64_t there_ = 0;
};

void run_group(ResidentBlocks& blocks, const BlockGroup& group, bool with_graph) {
  for (int64_t i = group.first; i < group.end; ++i) {
    blocks.begin_run(i);
    blocks.end_run(i, with_graph);
  }
}

std::string on_the_card(const BlockMoves& moves) {
  return "on the card while its block computes and the next one comes, " +
         std::to_string(moves.most) + " blocks at once at most";
}

}  // namespace

BlockMoves block_moves(const RunSpec& spec) {
  const int64_t layers = model_config(spec).layers;
  const std::vector<BlockGroup> groups = block_groups(spec.checkpoint, layers);
  const bool with_graph = spec.profile_type != Mode::kForward;
  CountedBlocks blocks(layers);
  for (const BlockGroup& group : groups) run_group(blocks, group, with_graph);
  if (!has_backward(spec.profile_type)) return blocks.moves();
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    for (int64_t i = group->end - 1; i >= group->first; --i) {
      blocks.begin_backward(i);
      if (group->recomputed && i == group->end - 1) run_group(blocks, *group, with_graph);
    }
  }
  return blocks.moves();
}

void add_parameter_rows(Sheet& sheet, const std::string& stored) {
  const RunSpec& spec = sheet.spec();
  const bool offloaded = spec.param_offload.any();
  const BlockMoves moves = offloaded ? block_moves(spec) : BlockMoves();
  sheet.begin(kParameters);
  for (const ParameterShape& parameter : kModelParameters) {
    const bool comes = offloaded && parameter.in_every_block;
    sheet.add({.name = std::string(parameter.name) + ".weight",
               .shape = parameter.shape,
               .dtype = sheet.weight(),
               .source = parameter.source,
               .condition = comes ? on_the_card(moves) : stored,
               .storages = comes ? moves.most : copies(sheet, parameter)});
  }
  if (!offloaded) return;
  sheet.begin(kHostParameters);
  for (const ParameterShape& parameter : kModelParameters) {
    if (!parameter.in_every_block) continue;
    sheet.add({.name = std::string(parameter.name) + ".weight",
               .shape = parameter.shape,
               .dtype = sheet.weight(),
               .source = "train/offload/offloaded_parameters.cpp OffloadedParameters",
               .condition = "pinned",
               .storages = copies(sheet, parameter),
               .space = MemorySpace::kHost});
  }
}

int64_t parameters_away(const std::vector<Row>& rows, const RunSpec& spec, bool after_backward) {
  if (!spec.param_offload.any()) return 0;
  const int64_t of_a_block = total(rows, kHostParameters) / model_config(spec).layers;
  // Backward begins with the last block: it stays where there is a graph.
  const int64_t there = after_backward || spec.profile_type == Mode::kForward ? 0 : 1;
  return (block_moves(spec).most - there) * of_a_block;
}

int64_t parameter_slab_bytes(const std::vector<Row>& rows) {
  return slab_bytes(rows, kHostParameters);
}

HostTraffic parameter_traffic(const std::vector<Row>& rows, const RunSpec& spec) {
  if (!spec.param_offload.any()) return {};
  const int64_t of_all = total(rows, kHostParameters);
  return {0, of_all / model_config(spec).layers * block_moves(spec).fetches * passes(spec)};
}

}  // namespace headroom
