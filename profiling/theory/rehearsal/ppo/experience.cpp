#include "profiling/theory/rehearsal/ppo/experience.h"

#include <utility>

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/ppo/phases/packing.h"

namespace headroom {
namespace {

std::shared_ptr<const ShapeLayout> asking(const ShapeLayout& pass, ShapeTensor outputs_N) {
  ShapeLayout asks = pass;
  asks.outputs_N = std::move(outputs_N);
  return std::make_shared<const ShapeLayout>(std::move(asks));
}

}  // namespace

ShapeTensor ShapeExperience::zeros_BR() const {
  mask_BR.run->memory.site.operation = "zeros";
  return empty(*mask_BR.run, mask_BR.sizes, DType::kFp32);
}

ShapeExperience make_shape_experience(ShapeTensor tokens_BS, int64_t response) {
  Run& run = *tokens_BS.run;
  const int64_t sequences = tokens_BS.size(0);
  const ShapeTensor positions_R = integers(run, response);
  const ShapeTensor lengths_B1 = integers(run, sequences);
  ShapeExperience made;
  made.mask_BR = empty(run, {sequences, response}, DType::kBool);
  made.prompt = tokens_BS.size(1) - response;
  made.response = response;
  made.tokens_BS = std::move(tokens_BS);
  return made;
}

ShapeRows rows_of(const ShapeExperience& experience, int64_t sequences) {
  Run& run = *experience.mask_BR.run;
  const int64_t length = experience.prompt + experience.response;
  const int64_t responses = sequences * experience.response;
  run.memory.site.operation = "cat";
  const ShapeTensor tokens_S = integers(run, sequences * length);
  run.memory.site.operation = "rows_of";
  const ShapeLayout pass =
      packed_shape_layout(run, std::vector<int64_t>(static_cast<size_t>(sequences), length));
  ShapeRows rows;
  rows.pass = asking(pass, integers(run, responses));
  rows.ends = asking(pass, integers(run, sequences));
  rows.cells_T = integers(run, responses);
  rows.targets_T = index_select(tokens_S, 0, integers(run, responses));
  rows.owners_T = integers(run, responses);
  rows.sequences_B = integers(run, sequences);
  rows.tokens_1S = unsqueeze(tokens_S, 0);
  return rows;
}

ShapeTensor of_rows(const ShapeTensor& of_all_BR, const ShapeRows& rows) {
  return index_select(view(of_all_BR, {of_all_BR.elements()}), 0, rows.cells_T);
}

std::vector<ShapeRows> passes_of(const ShapeExperience& experience, int64_t sequences,
                                 int64_t max_tokens) {
  const Indices lengths(static_cast<size_t>(sequences), experience.prompt + experience.response);
  std::vector<ShapeRows> passes;
  for (const Indices& pack : pack_sequences(lengths, max_tokens)) {
    passes.push_back(rows_of(experience, static_cast<int64_t>(pack.size())));
  }
  return passes;
}

}  // namespace headroom
