// Rows of theory for each parameter of model/parameter_table.h.
#pragma once

#include <algorithm>
#include <string>

#include "model/parameter_table.h"
#include "profiling/theory/row_builder.h"

namespace headroom {

int64_t copies(const RowBuilder& sheet, const ParameterEntry& parameter);  // tensors of that shape
int64_t elements(const RowBuilder& sheet, const ParameterEntry& parameter);  // of one of them
int64_t row_count(const RowBuilder& sheet, const ParameterEntry& parameter);

// True if autocast casts it: it is in a matrix product, and not one of FP8, which has its own
// casts.
bool is_cast(const RowBuilder& sheet, const ParameterEntry& parameter);

// The number of all parameter tensors.
int64_t parameter_tensors(const RowBuilder& sheet);

// The first parameter with the largest `size`.
template <typename SizeOf>
const ParameterEntry& largest_by(const RowBuilder& sheet, const SizeOf& size) {
  const std::vector<ParameterEntry>& entries = parameter_entries(sheet.config());
  return *std::max_element(
      entries.begin(), entries.end(),
      [&](const ParameterEntry& a, const ParameterEntry& b) { return size(a) < size(b); });
}

// The largest parameter, of all or only of those that autocast casts.
const ParameterEntry& largest_parameter(const RowBuilder& sheet, bool cast_only = false);

// Adds a row for one parameter, named by it and `row.name`; the shape is the parameter's, and so is
// the source if the row has none.
void add_of(RowBuilder& sheet, const ParameterEntry& parameter, RowInput row);

// Adds a row for each parameter, named by it and `row.name`; shape and storages are the
// parameter's, and so is the source if the row has none.
void add_each(RowBuilder& sheet, RowInput row);

// Adds one row, for the largest parameter.
void add_largest(RowBuilder& sheet, RowInput row);

}  // namespace headroom
