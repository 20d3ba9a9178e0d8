#include "profiling/theory/states/parameters.h"

#include <utility>

namespace headroom {

int64_t copies(const RowBuilder& sheet, const ParameterEntry& parameter) {
  return parameter.in_every_block() ? sheet.config().layers : 1;
}

int64_t elements(const RowBuilder& sheet, const ParameterEntry& parameter) {
  return parameter_elements(parameter, sheet.config());
}

int64_t row_count(const RowBuilder& sheet, const ParameterEntry& parameter) {
  return parameter_sizes(parameter, sheet.config()).front();
}

int64_t parameter_tensors(const RowBuilder& sheet) {
  int64_t tensors = 0;
  for (const ParameterEntry& parameter : parameter_entries(sheet.config()))
    tensors += copies(sheet, parameter);
  return tensors;
}

bool is_cast(const RowBuilder& sheet, const ParameterEntry& parameter) {
  // If one number is summed, einsum makes an elementwise product, which no CPU list casts.
  const bool is_product = !sheet.cpu() || elements(sheet, parameter) > row_count(sheet, parameter);
  return parameter.in_product && is_product && !(sheet.fp8() && parameter.in_every_block());
}

const ParameterEntry& largest_parameter(const RowBuilder& sheet, bool cast_only) {
  return largest_by(sheet, [&](const ParameterEntry& parameter) {
    return cast_only && !is_cast(sheet, parameter) ? 0 : elements(sheet, parameter);
  });
}

void add_of(RowBuilder& sheet, const ParameterEntry& parameter, RowInput row) {
  row.name = parameter.name + row.name;
  row.shape = parameter.shape;
  if (row.source.empty()) row.source = parameter.source;
  sheet.add(std::move(row));
}

void add_each(RowBuilder& sheet, RowInput row) {
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    row.storages = copies(sheet, parameter);
    add_of(sheet, parameter, row);
  }
}

void add_largest(RowBuilder& sheet, RowInput row) {
  add_of(sheet, largest_parameter(sheet), std::move(row));
}

}  // namespace headroom
