#include "profiling/theory/states/parameters.h"

#include <utility>

namespace headroom {
namespace {

int64_t size_of(const RowBuilder& sheet, std::string_view letters) {
  int64_t product = 1;
  for (const char c : letters) {
    if (c != ' ' && c != '*') product *= sheet.size(c);
  }
  return product;
}

}  // namespace

int64_t copies(const RowBuilder& sheet, const ParameterEntry& parameter) {
  return parameter.in_every_block() ? sheet.config().layers : 1;
}

int64_t elements(const RowBuilder& sheet, const ParameterEntry& parameter) {
  return size_of(sheet, parameter.shape);
}

int64_t row_count(const RowBuilder& sheet, const ParameterEntry& parameter) {
  return size_of(sheet, parameter.rows());
}

int64_t parameter_tensors(const RowBuilder& sheet) {
  int64_t tensors = 0;
  for (const ParameterEntry& parameter : kParameterTable) tensors += copies(sheet, parameter);
  return tensors;
}

bool is_cast(const RowBuilder& sheet, const ParameterEntry& parameter) {
  // If one number is summed, einsum makes an elementwise product, which no CPU list casts.
  const bool is_product = !sheet.cpu() || elements(sheet, parameter) > row_count(sheet, parameter);
  return parameter.in_product && is_product && !(sheet.fp8() && parameter.in_every_block());
}

const ParameterEntry& largest_parameter(const RowBuilder& sheet, bool cast_only) {
  return largest_by([&](const ParameterEntry& parameter) {
    return cast_only && !is_cast(sheet, parameter) ? 0 : elements(sheet, parameter);
  });
}

void add_each(RowBuilder& sheet, const RowInput& row) {
  for (const ParameterEntry& parameter : kParameterTable) {
    RowInput of_one = row;
    of_one.name = parameter.name + row.name;
    of_one.shape = parameter.shape;
    if (row.source.empty()) of_one.source = parameter.source;
    of_one.storages = copies(sheet, parameter);
    sheet.add(of_one);
  }
}

void add_largest(RowBuilder& sheet, RowInput row) {
  const ParameterEntry& largest = largest_parameter(sheet);
  row.name = largest.name + row.name;
  row.shape = largest.shape;
  sheet.add(row);
}

}  // namespace headroom
