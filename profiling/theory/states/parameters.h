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

// Whether autocast casts it: it goes through a matrix product, and not one of FP8, which casts for
// itself.
bool is_cast(const RowBuilder& sheet, const ParameterEntry& parameter);

// Of all parameters: how many tensors they are.
int64_t parameter_tensors(const RowBuilder& sheet);

// The first of those for which `size` is largest.
template <typename SizeOf>
const ParameterEntry& largest_by(const SizeOf& size) {
  return *std::max_element(
      kParameterTable.begin(), kParameterTable.end(),
      [&](const ParameterEntry& a, const ParameterEntry& b) { return size(a) < size(b); });
}

// Of all, or of those that products cast.
const ParameterEntry& largest_parameter(const RowBuilder& sheet, bool cast_only = false);

// A row for each parameter, its name with `row.name` behind it; shape and storages are the
// parameter's, and so is the source where the row has none.
void add_each(RowBuilder& sheet, const RowInput& row);

// One row, of the largest parameter alone.
void add_largest(RowBuilder& sheet, RowInput row);

}  // namespace headroom
