#include "profiling/theory/host/host_parameters.h"

#include <algorithm>

#include "profiling/theory/host/disk_states.h"
#include "profiling/theory/host/host_update.h"
#include "profiling/theory/states/parameters.h"
#include "train/generate/rules.h"
#include "train/offload/blocks/block_prefetcher.h"
#include "train/offload/disk/staged_blocks.h"
#include "train/offload/states/host_ranges.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

class CountedBlocks final : public BlockPrefetcher {
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

void run_group(BlockPrefetcher& blocks, const BlockGroup& group, bool with_graph) {
  for (int64_t i = group.first; i < group.end; ++i) {
    blocks.begin_run(i);
    blocks.end_run(i, with_graph);
  }
}

bool on_disk(const RunSpec& spec) { return spec.param_offload.space == MemorySpace::kDisk; }

// Blocks whose parameters have host memory.
int64_t blocks_on_host(const RunSpec& spec) {
  const int64_t layers = model_config(spec).layers;
  return on_disk(spec) ? std::min(kStagedBlocks, layers) : layers;
}

int64_t bytes_of_a_block(const std::vector<Row>& rows, const RunSpec& spec) {
  return total(rows, kHostParameters) / blocks_on_host(spec);
}

// A block's bytes in the file.
int64_t bytes_on_pages(const RowBuilder& sheet) {
  int64_t bytes = 0;
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    if (!parameter.in_every_block()) continue;
    bytes += on_pages(elements(sheet, parameter) * element_size(sheet.weight()));
  }
  return bytes;
}

void add_disk_parameters(RowBuilder& sheet) {
  const std::string source = "train/offload/blocks/disk_block_storage.cpp DiskBlockStorage";
  sheet.begin(kDiskParameters);
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    if (!parameter.in_every_block()) continue;
    sheet.add({.name = parameter.full_name(),
               .shape = parameter.shape,
               .dtype = sheet.weight(),
               .source = source,
               .storages = copies(sheet, parameter),
               .space = MemorySpace::kDisk});
  }
  add_padding(sheet, sheet.config().layers * bytes_on_pages(sheet),
              {.source = source, .condition = "whole pages of each parameter"});
}

std::string on_the_card(const BlockMoves& moves) {
  return "on the card while its block computes and the next one comes, " +
         std::to_string(moves.most) + " blocks at once at most";
}

// The number of passes through the blocks.
int64_t passes_of(const RunSpec& spec) {
  return spec.profile_type == Mode::kGenerate ? generation_passes(spec) : passes(spec);
}

}  // namespace

BlockMoves block_moves(const RunSpec& spec) {
  const int64_t layers = model_config(spec).layers;
  const std::vector<BlockGroup> groups = block_groups(spec.checkpoint, layers);
  const bool with_graph = builds_graph(spec.profile_type);
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

void add_parameter_rows(RowBuilder& sheet, const std::string& stored) {
  const RunSpec& spec = sheet.spec();
  const bool offloaded = spec.param_offload.any();
  const BlockMoves moves = offloaded ? block_moves(spec) : BlockMoves();
  sheet.begin(kParameters);
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    const bool comes = offloaded && parameter.in_every_block();
    sheet.add({.name = parameter.full_name(),
               .shape = parameter.shape,
               .dtype = sheet.weight(),
               .source = parameter.source,
               .condition = comes ? on_the_card(moves) : stored,
               .storages = comes ? moves.most : copies(sheet, parameter)});
  }
  if (!offloaded) return;
  sheet.begin(kHostParameters);
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    if (!parameter.in_every_block()) continue;
    sheet.add({.name = parameter.full_name(),
               .shape = parameter.shape,
               .dtype = sheet.weight(),
               .source = on_disk(spec)
                             ? "train/offload/blocks/disk_block_storage.cpp DiskBlockStorage"
                             : "train/offload/blocks/host_block_storage.cpp HostBlockStorage",
               .condition = on_disk(spec) ? "pinned: blocks on their way" : "pinned",
               .storages = blocks_on_host(spec),
               .space = MemorySpace::kHost});
  }
  if (on_disk(spec)) add_disk_parameters(sheet);
}

int64_t parameters_away(const std::vector<Row>& rows, const RunSpec& spec, bool after_backward) {
  if (!spec.param_offload.any()) return 0;
  // Backward begins with the last block: it stays if there is a graph.
  const int64_t there = after_backward || !builds_graph(spec.profile_type) ? 0 : 1;
  return (block_moves(spec).most - there) * bytes_of_a_block(rows, spec);
}

int64_t offloaded_parameter_bytes(const std::vector<Row>& rows, const RunSpec& spec) {
  if (!spec.param_offload.any()) return 0;
  return model_config(spec).layers * bytes_of_a_block(rows, spec);
}

HostTraffic parameter_traffic(const std::vector<Row>& rows, const RunSpec& spec) {
  if (!spec.param_offload.any()) return {};
  return {0, bytes_of_a_block(rows, spec) * block_moves(spec).fetches * passes_of(spec)};
}

DiskFigures parameter_disk_figures(const RunSpec& spec) {
  if (!on_disk(spec)) return {};
  const RowBuilder sheet(spec);
  const int64_t block = bytes_on_pages(sheet);
  const int64_t all = sheet.config().layers * block;
  return {.files = all,
          .read = block * block_moves(spec).fetches * passes_of(spec),
          .written = offloads_optimizer(spec) ? all : 0};
}

}  // namespace headroom
