#include "train/parallel/tensor/tensor_plan.h"

#include <algorithm>

namespace headroom {

Split split_of(std::string_view parameter) {
  const ParameterEntry* const entry = find_parameter(parameter);
  return entry == nullptr ? Split::kWhole : entry->split;
}

bool is_of_each_head(std::string_view parameter) {
  const ParameterEntry* const entry = find_parameter(parameter);
  return entry != nullptr && entry->is_of_each_head();
}

Range part_of(int64_t total, int64_t count, int64_t index) {
  const int64_t piece = (total + count - 1) / count;
  const int64_t begin = std::min(index * piece, total);
  return {begin, std::min(piece, total - begin)};
}

}  // namespace headroom
