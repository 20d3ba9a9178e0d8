#include "profiling/theory/host/host_update.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "profiling/theory/host/disk_states.h"
#include "profiling/theory/host/host_parameters.h"
#include "profiling/theory/states/parameters.h"
#include "train/offload/states/host_ranges.h"
#include "train/settings/gradient_rules.h"
#include "train/settings/whole_units.h"

namespace headroom {
namespace {

// The order in a block. The head's gradients come before, the token table's after.
constexpr std::string_view kArrivals[] = {"ffn.w2",           "ffn.w3",
                                          "ffn.w1",           "ln2",
                                          "attn.output_proj", "attn.v_proj.bias",
                                          "attn.v_proj",      "attn.k_norm",
                                          "attn.k_proj.bias", "attn.k_proj",
                                          "attn.q_norm",      "attn.q_proj.bias",
                                          "attn.q_proj",      "ln1"};

// null: the model has none of that name.
const ParameterEntry* find_in(const RowBuilder& sheet, std::string_view name) {
  const std::vector<ParameterEntry>& entries = parameter_entries(sheet.config());
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const ParameterEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

// Two blocks stand for all: the next ones are alike. A model has some of these parameters.
std::vector<const ParameterEntry*> arrivals(const RowBuilder& sheet) {
  std::vector<const ParameterEntry*> all;
  const auto add = [&](std::string_view name) {
    if (const ParameterEntry* const entry = find_in(sheet, name)) all.push_back(entry);
  };
  add("lm_head");
  add("ln_final");
  for (int64_t block = 0; block < std::min<int64_t>(sheet.config().layers, 2); ++block) {
    for (const std::string_view name : kArrivals) add(name);
  }
  add("token_embeddings");
  return all;
}

// A group's bytes in whole units.
int64_t unit_bytes(const std::vector<Row>& rows, std::string_view group) {
  int64_t bytes = 0;
  for (const Row& row : rows) {
    if (row.group != group) continue;
    const int64_t storages = row.storages * (row.blocks.empty() ? 1 : row.blocks.count());
    bytes += storages * whole_units(row.bytes_each(), HostRanges::kUnit);
  }
  return bytes;
}

// The two consecutive gradients whose sum is largest.
std::array<const ParameterEntry*, 2> largest_neighbours(const RowBuilder& sheet) {
  const std::vector<const ParameterEntry*> all = arrivals(sheet);
  const auto size = [&](size_t first) {
    return elements(sheet, *all[first]) + elements(sheet, *all[first + 1]);
  };
  size_t largest = 0;
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    if (size(i) > size(largest)) largest = i;
  }
  return {all[largest], all[largest + 1]};
}

void add_states_in_memory(RowBuilder& sheet) {
  const std::string source = "train/offload/states/memory_states.cpp MemoryStates";
  sheet.begin(kHostMasters);
  add_each(sheet, {.name = ".master",
                   .source = source,
                   .condition = "the weights that the host updates",
                   .space = MemorySpace::kHost});
  sheet.begin(kHostOptimizerState);
  for (const char* moment : {".m", ".v"}) {
    add_each(sheet, {.name = moment, .source = source, .space = MemorySpace::kHost});
  }
}

}  // namespace

void add_leaving_gradients(RowBuilder& sheet) {
  sheet.begin(kGradients);
  for (const ParameterEntry* parameter : largest_neighbours(sheet)) {
    sheet.add({.name = std::string(parameter->name) + ".grad",
               .shape = parameter->shape,
               .dtype = sheet.weight(),
               .source = "train/offload/states/offloaded_optimizer.cpp OffloadedOptimizer::take",
               .condition = "inside backward, until the next one is there; the largest two that "
                            "come one after another"});
  }
}

void add_host_update_rows(RowBuilder& sheet) {
  if (sheet.spec().optimizer_offload.space == MemorySpace::kDisk) {
    add_disk_state_rows(sheet);
  } else {
    add_states_in_memory(sheet);
  }
  const std::string source = "train/offload/states/offloaded_optimizer.cpp OffloadedOptimizer";
  sheet.begin(kHostGradients);
  add_each(sheet, {.name = ".grad",
                   .dtype = sheet.weight(),
                   .source = source,
                   .condition = "pinned: the gradient, then the new weight",
                   .space = MemorySpace::kHost});
  if (passes(sheet.spec()) == 1) return;
  sheet.begin(kHostAddends);
  for (const ParameterEntry* parameter : largest_neighbours(sheet)) {
    sheet.add({.name = std::string(parameter->name) + ".grad",
               .shape = parameter->shape,
               .dtype = sheet.weight(),
               .source = source + "::add_up",
               .condition = "pinned: of a later micro-batch, until the next one is there; the "
                            "largest two that come one after another",
               .space = MemorySpace::kHost});
  }
}

int64_t host_pageable_bytes(const std::vector<Row>& rows, const RunSpec& spec) {
  const int64_t kept = total(rows, kHostMasters) + total(rows, kHostOptimizerState);
  if (kept == 0) return 0;
  // The next step's batch: its tokens and the one behind them (Data::batch in train/data).
  return kept + (spec.batch_size * spec.context_length + 1) * element_size(DType::kInt64);
}

int64_t gradient_slab_bytes(const std::vector<Row>& rows) {
  return whole_units(unit_bytes(rows, kHostGradients) + unit_bytes(rows, kHostAddends),
                     HostRanges::kSlab);
}

int64_t slab_bytes(const std::vector<Row>& rows, std::string_view group) {
  return whole_units(unit_bytes(rows, group), HostRanges::kSlab);
}

HostTraffic update_traffic(const std::vector<Row>& rows, const RunSpec& spec) {
  const int64_t bytes = total(rows, kHostGradients);
  // Offloaded weights stay on the host.
  return {passes(spec) * bytes, bytes == 0 ? 0 : bytes - offloaded_parameter_bytes(rows, spec)};
}

}  // namespace headroom
