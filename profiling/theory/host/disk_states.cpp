#include "profiling/theory/host/disk_states.h"

#include "profiling/theory/host/host_parameters.h"
#include "profiling/theory/states/parameters.h"
#include "text/quantity.h"
#include "train/offload/disk/disk_layout.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

constexpr int64_t kGenerations = 2;

DiskLayout layout_of(const RowBuilder& sheet) {
  std::vector<StateRegion> regions;
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    for (int64_t i = 0; i < copies(sheet, parameter); ++i) {
      regions.push_back({parameter.name, elements(sheet, parameter)});
    }
  }
  return {regions, DiskLayout::kUsualBlockBytes};
}

DiskFigures state_figures(const RunSpec& spec) {
  if (!offloads_optimizer(spec) || spec.optimizer_offload.space != MemorySpace::kDisk) return {};
  const DiskLayout layout = layout_of(RowBuilder(spec));
  return {.files = layout.both_files_bytes(),
          .buffers = DiskLayout::kUsualBuffers * layout.block_bytes(),
          .read = layout.state_bytes(),
          .written = layout.state_bytes()};
}

}  // namespace

void add_disk_state_rows(RowBuilder& sheet) {
  const std::string source = "train/offload/disk/disk_layout.cpp DiskLayout";
  sheet.begin(kDiskStates);
  for (const char* array : {".master", ".m", ".v"}) {
    for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
      sheet.add({.name = std::string(parameter.name) + array,
                 .shape = parameter.shape,
                 .source = source,
                 .condition = "the whole generation and the one that a step writes",
                 .storages = kGenerations * copies(sheet, parameter),
                 .space = MemorySpace::kDisk});
    }
  }
  add_padding(
      sheet, layout_of(sheet).both_files_bytes(),
      {.source = source, .condition = "whole pages of each array, and one that identifies a file"});
}

void add_padding(RowBuilder& sheet, int64_t bytes, RowInput row) {
  const int64_t padding = bytes - total(sheet.rows(), sheet.group());
  if (padding == 0) return;
  row.name = "padding";
  row.shape = std::to_string(padding);
  row.dtype = DType::kUint8;
  row.space = MemorySpace::kDisk;
  sheet.add(row);
}

DiskFigures disk_figures(const RunSpec& spec) {
  return state_figures(spec) + parameter_disk_figures(spec);
}

std::vector<std::string> disk_notes(const DiskFigures& figures) {
  std::string note = "In a step " + format_bytes(figures.read) + " are read from the disk and " +
                     format_bytes(figures.written) + " written to it";
  if (figures.buffers > 0) {
    note += ", states through buffers of " + format_bytes(figures.buffers) + " in host memory";
  }
  return {note + "."};
}

}  // namespace headroom
