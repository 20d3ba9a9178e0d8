#include "train/parallel/tensor/tensor_plan.h"

#include <algorithm>
#include <array>

namespace headroom {
namespace {

struct Row {
  std::string_view ending;  // of the name
  Split split;
};
constexpr std::array<Row, 9> kPlan = {{{"token_embeddings.weight", Split::kRows},
                                       {"attn.q_proj.weight", Split::kRows},
                                       {"attn.k_proj.weight", Split::kRows},
                                       {"attn.v_proj.weight", Split::kRows},
                                       {"attn.output_proj.weight", Split::kColumns},
                                       {"ffn.w1.weight", Split::kRows},
                                       {"ffn.w3.weight", Split::kRows},
                                       {"ffn.w2.weight", Split::kColumns},
                                       {"lm_head.weight", Split::kRows}}};

}  // namespace

Split split_of(std::string_view parameter) {
  const auto* const row = std::find_if(kPlan.begin(), kPlan.end(), [&](const Row& one) {
    return parameter.size() >= one.ending.size() &&
           parameter.substr(parameter.size() - one.ending.size()) == one.ending;
  });
  return row == kPlan.end() ? Split::kWhole : row->split;
}

Range part_of(int64_t total, int64_t count, int64_t index) {
  const int64_t piece = (total + count - 1) / count;
  const int64_t begin = std::min(index * piece, total);
  return {begin, std::min(piece, total - begin)};
}

}  // namespace headroom
