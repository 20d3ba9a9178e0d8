#include "profiling/theory/states/update.h"

#include <algorithm>
#include <map>

#include "profiling/theory/states/muon.h"
#include "profiling/theory/states/parameters.h"
#include "train/kernels/operations/operation_settings.h"
#include "train/optim/partition.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

// Note [Live tensors of an update of BF16 weights]
// Rationale: the optimizers' table is for FP32 parameters.
// Approach: with a master copy the optimizer's parameters are FP32, so its rows hold unchanged, and
//   the FP32 gradients of one tensor, or of all, are further temporaries. Without one everything is
//   BF16. Stochastic rounding keeps BF16 and computes in FP32, one tensor at a time: there the
//   optimizer's next values are temporaries, too.
// Limits: scales are always FP32, and so are 8-bit states' moments of small tensors, except with
//   stochastic rounding.
DType moment_type(const RowBuilder& sheet) {
  return state_precision(sheet.spec()).moment == 2 ? DType::kBf16 : DType::kFp32;
}

bool rounds_stochastically(const RowBuilder& sheet) {
  return sheet.spec().rounding == Rounding::kStochastic;
}

// The type that an update computes in.
DType update_type(const RowBuilder& sheet) {
  return rounds_stochastically(sheet) ? DType::kFp32 : moment_type(sheet);
}

// Adam-mini's blocks: "D/64" for 64 rows that share one.
std::string blocks_shape(const RowBuilder& sheet, const ParameterEntry& parameter) {
  const int64_t rows = row_count(sheet, parameter);
  const std::vector<int64_t> sizes =
      parameter.is_matrix() ? std::vector<int64_t>{rows, 1} : std::vector{rows};
  const int64_t shared = rows_per_block(parameter.name, sizes, sheet.config().head_dim());
  const std::string of_rows(parameter.rows());
  return shared == 1 ? of_rows : of_rows + "/" + std::to_string(shared);
}

bool is_moment(StateForm form) {
  return form == StateForm::kMoment || form == StateForm::kHidden || form == StateForm::kOuter;
}

// Adds a parameter's state in its kept form.
void add_state_of(RowBuilder& sheet, const OptimizerState& state, const ParameterEntry& parameter) {
  if (!keeps_state(state.form, parameter)) return;
  const bool small = elements(sheet, parameter) < k8BitSmallest;
  RowInput row{.name = std::string(parameter.name) + "." + state.name,
               .shape = parameter.shape,
               .source = state.source,
               .condition = state.condition,
               .storages = copies(sheet, parameter)};
  if (is_moment(state.form) && moment_type(sheet) == DType::kBf16) {
    row.dtype = DType::kBf16;
    row.condition = "as the weights are";
  } else if (state.form == StateForm::k8Bit && small) {
    row.dtype = rounds_stochastically(sheet) ? DType::kBf16 : DType::kFp32;
    row.condition = "fewer than " + std::to_string(k8BitSmallest) + " elements: no 8 bits";
  } else if (state.form == StateForm::k8Bit) {
    row.dtype = DType::kUint8;
  } else if (state.form == StateForm::k8BitScale) {
    if (small) return;
    std::replace(row.shape.begin(), row.shape.end(), ' ', '*');
    row.shape += "/" + std::to_string(k8BitBlock);
  } else if (state.form == StateForm::kOfBlock) {
    row.shape = blocks_shape(sheet, parameter);
    row.dtype = update_type(sheet);
  }
  sheet.add(row);
}

void add_optimizer_state(RowBuilder& sheet, const OptimizerState& state) {
  RowInput row{.name = state.name, .source = state.source, .condition = state.condition};
  if (state.form == StateForm::kScalar) {
    row.storages = parameter_tensors(sheet);
    sheet.add(row);
  } else if (state.form == StateForm::kMaps) {
    row.shape = "1024";
    sheet.add(row);
  } else {
    for (const ParameterEntry& parameter : parameter_entries(sheet.config()))
      add_state_of(sheet, state, parameter);
  }
}

// 8-bit states are decoded to FP32 for any type of weights.
DType temporary_type(const RowBuilder& sheet, const OptimizerTemporaries& made) {
  if (made.is_mask) return DType::kBool;
  return made.is_decoded ? DType::kFp32 : update_type(sheet);
}

// The first update makes the state: it has no old values beside the new ones.
bool updates_again(const RunSpec& spec) { return all_steps(spec) > 1; }

bool is_held(const RunSpec& spec, HeldBy held_by) {
  if (held_by == HeldBy::kAll) return true;
  const bool is_compiled = has_compiled_update(spec);
  if (held_by == HeldBy::kEager) return !is_compiled;
  return is_compiled && spec.device.kind == DeviceKind::kCpu;
}

void add_optimizer_temporaries(RowBuilder& sheet, const OptimizerTemporaries& made) {
  if (made.is_state && !updates_again(sheet.spec())) return;
  const bool one_at_a_time = rounds_stochastically(sheet) || releases_gradients(sheet.spec());
  sheet.begin(made.is_state && !rounds_stochastically(sheet) ? kOptimizerNextState
                                                             : kOptimizerTemporaries);
  if (made.of_all && !one_at_a_time) {
    return add_each(sheet, {.name = std::string(".") + made.name,
                            .dtype = update_type(sheet),
                            .source = made.source,
                            .condition = made.condition});
  }
  const auto blocks = [&](const ParameterEntry& parameter) {
    return sheet.token_size(blocks_shape(sheet, parameter));
  };
  const ParameterEntry& largest =
      made.of_blocks ? largest_by(sheet, blocks) : largest_parameter(sheet);
  const int64_t size = elements(sheet, largest);
  if (size < made.at_least || size >= made.below) return;
  // The FP32 copy of a BF16 gradient is added to decoded states.
  const bool widens = made.is_decoded && update_type(sheet) == DType::kBf16;
  std::string shape = made.of_blocks ? blocks_shape(sheet, largest) : largest.shape;
  if (made.chunk > 0) {
    shape = std::to_string(std::min(made.chunk, size / k8BitBlock * k8BitBlock));
  }
  sheet.add({.name = std::string(largest.name) + "." + made.name,
             .shape = shape,
             .dtype = temporary_type(sheet, made),
             .source = made.source,
             .condition = made.condition,
             .storages = made.storages + (widens ? 1 : 0)});
}

void add_master_weights(RowBuilder& sheet, const ParameterEntry& fullest) {
  const std::string source = "train/techniques/master_weights.cpp MasterWeights";
  sheet.begin(kMasterWeights);
  add_each(
      sheet,
      {.name = ".master", .source = source, .condition = "the weights that the optimizer updates"});
  sheet.begin(kOptimizerTemporaries);
  RowInput gradient{
      .name = ".grad_fp32", .source = source + "::update", .condition = "all tensors at once"};
  if (sheet.spec().optimizer_impl != OptimizerImpl::kReference) return add_each(sheet, gradient);
  gradient.condition = "the optimizer works tensor by tensor; the largest";
  add_of(sheet, fullest, gradient);
}

int64_t moments_of(const OptimizerInfo& info, const ParameterEntry& parameter) {
  return std::count_if(info.state.begin(), info.state.end(), [&](const OptimizerState& state) {
    return is_moment(state.form) && keeps_state(state.form, parameter);
  });
}

// FP32 copies of a parameter: weight, gradient and moments.
int64_t widened_of(const RowBuilder& sheet, const OptimizerInfo& info,
                   const ParameterEntry& parameter) {
  return 2 + (updates_again(sheet.spec()) ? moments_of(info, parameter) : 0);
}

void add_widened(RowBuilder& sheet, const OptimizerInfo& info, const ParameterEntry& parameter) {
  sheet.begin(kOptimizerTemporaries);
  add_of(sheet, parameter,
         {.name = ".widened",
          .source = "train/techniques/stochastic_rounding.cpp StochasticRounding::update",
          .condition = "weight, gradient and moments in FP32; the largest tensor",
          .storages = widened_of(sheet, info, parameter)});
}

// The rounding of the weight, after its gradient and the update's temporaries are freed.
void add_rounding(RowBuilder& sheet, const OptimizerInfo& info) {
  sheet.begin(kOptimizerTemporaries);
  const std::string source = "train/techniques/stochastic_rounding.cpp round_stochastically";
  const auto widened = [&](const ParameterEntry& parameter) {
    return 1 + moments_of(info, parameter);
  };
  const bool is_compiled = has_compiled_rounding(sheet.spec());
  const int64_t rounding_bytes = is_compiled ? 4 + 2 : 4 + 1 + 4 + 2;  // per element: the last rows
  const ParameterEntry& largest = largest_by(sheet, [&](const ParameterEntry& parameter) {
    return elements(sheet, parameter) * (4 * widened(parameter) + rounding_bytes);
  });
  add_of(sheet, largest,
         {.name = ".widened",
          .source = source,
          .condition = "weight and moments in FP32; the largest tensor",
          .storages = widened(largest)});
  add_of(sheet, largest, {.name = ".random_bits", .dtype = DType::kInt32, .source = source});
  if (!is_compiled) {
    add_of(sheet, largest, {.name = ".is_finite", .dtype = DType::kBool, .source = source});
    add_of(sheet, largest, {.name = ".chosen", .source = source});
  }
  add_of(sheet, largest, {.name = ".rounded", .dtype = DType::kBf16, .source = source});
}

// Muon's rows are of one parameter: the one whose update has most alive.
const ParameterEntry& add_temporaries_of_muon(RowBuilder& sheet, const OptimizerInfo& info) {
  const bool has_masters = sheet.spec().master_weights == MasterCopy::kFp32;
  const auto copies_in_fp32 = [&](const ParameterEntry& parameter) {
    if (rounds_stochastically(sheet)) return widened_of(sheet, info, parameter);
    return int64_t{has_masters ? 1 : 0};  // the gradient
  };
  return add_muon_temporaries(sheet, update_type(sheet), [&](const ParameterEntry& parameter) {
    return elements(sheet, parameter) * element_size(DType::kFp32) * copies_in_fp32(parameter);
  });
}

// By the optimizer's row in train/optim/table.h.
void add_optimizer(RowBuilder& sheet) {
  const OptimizerImpl impl = sheet.spec().optimizer_impl;
  const OptimizerInfo& info = info_of(sheet.spec().optimizer);
  sheet.begin(kOptimizerState);
  for (const OptimizerState& state : info.state) {
    if (!state.only || *state.only == impl) add_optimizer_state(sheet, state);
  }
  RowBuilder rounding = sheet;
  for (const OptimizerTemporaries& made : info.temporaries) {
    if (made.impl == impl && is_held(sheet.spec(), made.held_by))
      add_optimizer_temporaries(sheet, made);
  }
  const ParameterEntry& fullest = info.kind == OptimizerKind::kMuon
                                      ? add_temporaries_of_muon(sheet, info)
                                      : largest_parameter(sheet);
  if (sheet.spec().master_weights == MasterCopy::kFp32) add_master_weights(sheet, fullest);
  if (!rounds_stochastically(sheet)) return;
  add_widened(sheet, info, fullest);
  add_rounding(rounding, info);
  const auto bytes = [](const RowBuilder& of) { return total(of.rows(), kOptimizerTemporaries); };
  if (bytes(rounding) > bytes(sheet)) sheet = std::move(rounding);
}

// The fullest instant: on CUDA in _foreach_norm, which sums a tensor chunk by chunk; on the CPU,
// and if every tensor is one chunk, when the norms stand side by side.
void add_clipping(RowBuilder& sheet) {
  sheet.begin(kClipping);
  const std::string source = "train/techniques/clipping.cpp norm_of_all: ";
  sheet.add({.name = "norms",
             .shape = "",
             .dtype = sheet.weight(),
             .source = source + "_foreach_norm",
             .condition = "one of each gradient",
             .storages = parameter_tensors(sheet)});
  if (!sheet.cpu() && sheet.size('C') > 1) {
    sheet.add(
        {.name = "chunk_sums",
         .shape = "M C",
         .source = source + "_foreach_norm",
         .condition = "chunks of 65536 elements, as many for each tensor as for the largest"});
    return;
  }
  sheet.add({.name = "stacked", .shape = "M", .dtype = sheet.weight(), .source = source + "stack"});
  sheet.add({.name = "norm",
             .shape = "",
             .dtype = sheet.weight(),
             .source = source + "linalg_vector_norm",
             .condition = "of all gradients"});
}

// A compiled region gives all its gradients at once.
void add_released_region(RowBuilder& sheet) {
  std::map<ModelSection, int64_t> elements_of;
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    elements_of[parameter.section] += elements(sheet, parameter);
  }
  const auto fullest =
      std::max_element(elements_of.begin(), elements_of.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    if (parameter.section != fullest->first) continue;
    add_of(sheet, parameter,
           {.name = ".grad",
            .dtype = sheet.weight(),
            .source = "train/kernels/compiled_region.cpp RegionBackward::apply",
            .condition = "with its region's, inside backward, gone with its update; the fullest"});
  }
}

}  // namespace

// One at a time, from the end of its node in backward to its update.
void add_released_gradient(RowBuilder& sheet) {
  sheet.begin(kGradients);
  if (sheet.spec().kernels == Kernels::kCompiled) return add_released_region(sheet);
  add_largest(sheet,
              {.name = ".grad",
               .dtype = sheet.weight(),
               .source = "train/update/gradient_release.cpp GradientRelease::update",
               .condition = "one at a time, inside backward, gone with its update; the largest"});
}

void add_update_rows(RowBuilder& sheet) {
  if (sheet.spec().max_grad_norm > 0) add_clipping(sheet);
  add_optimizer(sheet);
}

}  // namespace headroom
