#include "profiling/theory/host/offloaded.h"

#include <algorithm>
#include <set>

#include "profiling/theory/activations/compressed.h"
#include "profiling/theory/host/host_parameters.h"
#include "profiling/theory/host/host_update.h"
#include "train/offload/activations/saved_units.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

// The blocks that send memory to the host. Each has a unit of its own.
struct Senders {
  Blocks kept;     // send their saves
  Blocks inputs;   // send the inputs of their recomputation
  Blocks streams;  // of those kept: send the previous block's output unchanged
};

Senders senders_of(const RunSpec& spec) {
  Senders senders;
  const int64_t layers = model_config(spec).layers;
  for (const BlockGroup& group : block_groups(spec.checkpoint, layers)) {
    if (group.recomputed) {
      senders.inputs.add(group.first);
      continue;
    }
    for (int64_t block = group.first; block < std::min(group.end, layers - 1); ++block) {
      senders.kept.add(block);
    }
  }
  return senders;
}

bool is_output(const Row& row) { return row.group == kBlock && row.tensor == "output_BSD"; }
bool is_embedding(const Row& row) {
  return row.group == kEmbedding && row.tensor == "embedded_BSD";
}

// The core's checkpoint saves its inputs, no node does.
bool is_input_of_checkpointed_core(const RunSpec& spec, const Row& row) {
  return spec.checkpoint.kind == CheckpointKind::kSelective &&
         spec.attention == Attention::kEager &&
         (row.tensor == "q_BHSK" || row.tensor == "k_BHTK" || row.tensor == "v_BHTK");
}

// A row of `blocks` and of others becomes two rows, that of `blocks` first.
void split(std::vector<Row>& rows, const Blocks& blocks) {
  std::vector<Row> parts;
  for (const Row& row : rows) {
    const Blocks of_them = row.blocks.within(blocks);
    const Blocks of_others = row.blocks.without(blocks);
    parts.push_back(row);
    if (row.group != kBlock || is_output(row) || of_them.empty() || of_others.empty()) continue;
    parts.back().blocks = of_them;
    parts.push_back(row);
    parts.back().blocks = of_others;
  }
  rows = std::move(parts);
}

// The residual stream goes with the block whose norm saves it. In 8 bits this block makes the
// memory; unchanged, it is the previous block's memory.
void move_streams(std::vector<Row>& rows, const Activations& activations, Senders& senders) {
  const auto sends = [&](const Row& row) {
    return row.group == kBlock && is_stream_of_a_norm(row) &&
           senders.kept.contains(row.blocks.first());
  };
  const auto output = std::find_if(rows.begin(), rows.end(), is_output);
  const auto reader = std::find_if(rows.begin(), rows.end(), sends);
  if (output == rows.end() || reader == rows.end()) return;
  if (output->bytes_each() < activations.min_bytes) return;
  const Blocks readers = reader->blocks;
  if (!activations.encoded()) {
    senders.streams = readers;
    return;
  }
  const Row stream = *output;
  for (Row& row : rows) {
    if (sends(row)) take_over(row, stream);
    if (is_output(row)) row.blocks = row.blocks.without(readers.moved(-1));
  }
  std::erase_if(rows, [&](const Row& row) {
    return (is_output(row) && row.blocks.empty()) || (is_embedding(row) && readers.contains(0));
  });
}

// Blocks that send something of the row; none if it stays. The block that reads another block's
// output, or the embedding, sends it.
Blocks senders_of_row(const RunSpec& spec, const Row& row, const Senders& senders) {
  const int64_t min_bytes = spec.activations.min_bytes;
  if (is_output(row) || is_embedding(row)) {
    if (row.bytes_each() < min_bytes) return {};
    const Blocks readers = is_output(row) ? row.blocks.moved(1) : Blocks::all(1);
    return readers.without(readers.without(senders.inputs).without(senders.streams));
  }
  if (row.group != kBlock || !senders.kept.contains(row.blocks.first())) return {};
  const bool is_input = is_input_of_checkpointed_core(spec, row) && row.bytes_each() >= min_bytes;
  // No gradient goes through integers and masks.
  if (!is_low_or_single(row.dtype)) return {};
  if (!is_input && !is_saved_whole(row, min_bytes)) return {};
  if (spec.activations.encoded() && !bears_8_bits(row)) return {};
  return row.blocks;
}

std::vector<Row> forms_of(const Row& row, const Activations& activations) {
  if (!activations.encoded()) return {row};
  return {codes_row(row, activations), scales_row(row, activations)};
}

void add_condition(Row& row, const std::string& condition) {
  if (!row.condition.empty()) row.condition += "; ";
  row.condition += condition;
}

Row on_host(Row row) {
  row.group = kOffloaded;
  row.space = MemorySpace::kHost;
  row.saved_by.clear();
  add_condition(row, "in host memory until backward comes to its block");
  return row;
}

Row on_card(Row row, const Blocks& blocks) {
  row.blocks = blocks;
  row.on_host_too = true;
  add_condition(row, "of the last two that went to the host, on the card too when backward begins");
  return row;
}

}  // namespace

void offload_saved(std::vector<Row>& rows, const RunSpec& spec) {
  if (!spec.activations.offloaded() || !builds_graph(spec.profile_type)) return;
  Senders senders = senders_of(spec);
  split(rows, senders.kept);
  move_streams(rows, spec.activations, senders);
  std::vector<Blocks> sent;  // of each row
  std::set<int64_t> all;
  for (const Row& row : rows) {
    sent.push_back(senders_of_row(spec, row, senders));
    for (int64_t block = 0; block < model_config(spec).layers; ++block) {
      if (sent.back().contains(block)) all.insert(block);
    }
  }
  Blocks units;
  for (const int64_t block : all) units.add(block);
  const Blocks last = units.last(SavedUnits::kStillOnCard);

  std::vector<Row> here, host;
  for (size_t i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    if (sent[i].empty()) {
      here.push_back(row);
      continue;
    }
    const int64_t back = is_output(row) ? -1 : 0;  // from the sender to the block that has the row
    const bool of_blocks = row.group == kBlock;
    const Blocks stays = row.blocks.without(sent[i].moved(back));
    if (of_blocks && !stays.empty()) {
      here.push_back(row);
      here.back().blocks = stays;
    }
    if (of_blocks) row.blocks = sent[i].moved(back);
    const Blocks still = sent[i].within(last).moved(back);
    for (const Row& form : forms_of(row, spec.activations)) {
      host.push_back(on_host(form));
      if (still.empty()) continue;
      here.push_back(on_card(form, of_blocks ? still : Blocks()));
      // The codes are made before the group begins.
      if (back != 0 && spec.activations.encoded()) here.back().group = kCheckpointInputs;
    }
  }
  here.insert(here.end(), host.begin(), host.end());
  rows = std::move(here);
}

int64_t host_pinned_bytes(const std::vector<Row>& rows) {
  return slab_bytes(rows, kOffloaded) + slab_bytes(rows, kHostParameters) +
         gradient_slab_bytes(rows);
}

HostTraffic host_traffic(const std::vector<Row>& rows, const RunSpec& spec) {
  HostTraffic saved;  // of one forward and backward
  for (const Row& row : rows) {
    if (row.group == kOffloaded) saved.to_host += row.model_bytes();
  }
  if (has_backward(spec.profile_type)) {
    saved.to_card = saved.to_host;
    for (const Row& row : rows) {
      if (row.on_host_too) saved.to_card -= row.model_bytes();
    }
  }
  HostTraffic all = update_traffic(rows, spec) + parameter_traffic(rows, spec);
  for (int64_t pass = 0; pass < passes(spec); ++pass) all = all + saved;
  return all;
}

}  // namespace headroom
