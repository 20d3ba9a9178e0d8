// What lives outside the graph: parameters, gradients, optimizer state, cast weights, tables,
// inputs.
#include <algorithm>

#include "profiling/theory/checkpoint.h"
#include "profiling/theory/sheet.h"
#include "train/gradient_rules.h"
#include "train/optim/partition.h"

namespace headroom {
namespace {

struct Parameter {
  const char* name;
  const char* shape;
  bool in_every_block;
  bool in_linear;  // autocast casts only what goes through a matrix product
  const char* source;
};

// In the order of model->parameters() but for the blocks, whose tensors are counted together.
constexpr Parameter kModelParameters[] = {
    {"token_embeddings", "V D", false, false, "model/layers.cpp EmbeddingImpl"},
    {"ln1", "D", true, false, "model/layers.cpp RmsNorm"},
    {"attn.q_proj", "D D", true, true, "model/attention.cpp CausalSelfAttention"},
    {"attn.k_proj", "G*K D", true, true, "model/attention.cpp CausalSelfAttention"},
    {"attn.v_proj", "G*K D", true, true, "model/attention.cpp CausalSelfAttention"},
    {"attn.output_proj", "D D", true, true, "model/attention.cpp CausalSelfAttention"},
    {"ln2", "D", true, false, "model/layers.cpp RmsNorm"},
    {"ffn.w1", "F D", true, true, "model/layers.cpp SwiGlu"},
    {"ffn.w2", "D F", true, true, "model/layers.cpp SwiGlu"},
    {"ffn.w3", "F D", true, true, "model/layers.cpp SwiGlu"},
    {"ln_final", "D", false, false, "model/layers.cpp RmsNorm"},
    {"lm_head", "V D", false, true, "model/transformer.cpp TransformerImpl"},
};

int64_t copies(const Sheet& sheet, const Parameter& parameter) {
  return parameter.in_every_block ? sheet.config().layers : 1;
}

void add_each(Sheet& sheet, const std::string& name, const std::string& source,
              const std::string& condition, DType dtype = DType::kFp32) {
  for (const Parameter& parameter : kModelParameters) {
    sheet.add({.name = std::string(parameter.name) + name,
               .shape = parameter.shape,
               .dtype = dtype,
               .source = source.empty() ? parameter.source : source,
               .condition = condition,
               .storages = copies(sheet, parameter)});
  }
}

// Of what goes through a matrix product of autocast: the token table and the norm weights meet
// none, and FP8 products cast for themselves.
bool is_cast(const Sheet& sheet, const Parameter& parameter) {
  return parameter.in_linear && !(sheet.fp8() && parameter.in_every_block);
}

void add_cast(Sheet& sheet, const Parameter& parameter, int64_t storages,
              const std::vector<std::string>& saved_by, const std::string& condition) {
  sheet.add({.name = std::string(parameter.name) + ".weight",
             .shape = parameter.shape,
             .dtype = sheet.compute(),
             .source = "model/layers.cpp Linear::forward: einsum ...i,oi->...o",
             .saved_by = saved_by,
             .condition = condition,
             .storages = storages});
}

// See Note [Casts under autocast] in activations.cpp.
void add_casts(Sheet& sheet) {
  sheet.begin(kCastCache);
  const bool saves = sheet.spec().profile_type != Mode::kForward;
  const int64_t again = saves ? recomputed_blocks(sheet.spec()).count() : 0;
  for (const Parameter& parameter : kModelParameters) {
    if (!is_cast(sheet, parameter)) continue;
    // On the CPU what is computed again has no node that would keep them.
    const int64_t kept =
        copies(sheet, parameter) - (sheet.cpu() && parameter.in_every_block ? again : 0);
    if (kept == 0) continue;
    add_cast(sheet, parameter, kept, {"BmmBackward0.mat2"},
             sheet.cpu() ? "cast at its use; einsum is on no CPU list, its node keeps the cast"
                         : "cast at first use, kept until the guard dies, without a graph too");
  }
  if (again == 0) return;
  sheet.begin(kRecomputedCast);
  for (const Parameter& parameter : kModelParameters) {
    if (!is_cast(sheet, parameter) || !parameter.in_every_block) continue;
    add_cast(sheet, parameter, recomputed_at_once(sheet.spec()), {"BmmBackward0.mat2"},
             "cast again by what is computed again, one group at a time");
  }
}

int64_t size_of(const Sheet& sheet, std::string_view letters) {
  int64_t product = 1;
  for (const char c : letters) {
    if (c != ' ' && c != '*') product *= sheet.size(c);
  }
  return product;
}

int64_t elements(const Sheet& sheet, const Parameter& parameter) {
  return size_of(sheet, parameter.shape);
}

// The first dimension: "G*K" of "G*K D".
std::string_view rows_of(const Parameter& parameter) {
  const std::string_view shape = parameter.shape;
  return shape.substr(0, shape.find(' '));
}

template <typename SizeOf>
const Parameter& largest_by(const SizeOf& size) {
  return *std::max_element(
      std::begin(kModelParameters), std::end(kModelParameters),
      [&](const Parameter& a, const Parameter& b) { return size(a) < size(b); });
}

// Of all, or of those that products cast.
const Parameter& largest_parameter(const Sheet& sheet, bool cast_only = false) {
  return largest_by([&](const Parameter& parameter) {
    return cast_only && !is_cast(sheet, parameter) ? 0 : elements(sheet, parameter);
  });
}

void add_passing_cast(Sheet& sheet) {
  sheet.begin(kPassingCast);
  add_cast(
      sheet, largest_parameter(sheet, /*cast_only=*/true), 1, {},
      "einsum is on no CPU list; without a graph each cast dies with its product; the largest");
}

// Note [What an update of BF16 weights holds]
// Rationale: the optimizers' table speaks of FP32 parameters.
// Approach: with a master copy the optimizer's parameters are FP32, so its rows stand as they are,
//   and the FP32 gradients of one tensor, or of all, come to its temporaries. Without one
//   everything is BF16. With stochastic rounding what is kept is BF16 and what is computed with is
//   FP32, of one tensor at a time: the optimizer's next values are passing there, too.
// Limits: scales are FP32 in every case, and so are 8-bit states' moments of small tensors but for
//   stochastic rounding.
DType moment_type(const Sheet& sheet) {
  return state_precision(sheet.spec()).moment == 2 ? DType::kBf16 : DType::kFp32;
}

bool rounds_stochastically(const Sheet& sheet) {
  return sheet.spec().rounding == Rounding::kStochastic;
}

// What an update computes in.
DType update_type(const Sheet& sheet) {
  return rounds_stochastically(sheet) ? DType::kFp32 : moment_type(sheet);
}

// Of Adam-mini's blocks: "D/64", the rows that share one.
std::string blocks_shape(const Sheet& sheet, const Parameter& parameter) {
  const std::string_view shape = parameter.shape;
  const int64_t rows = size_of(sheet, rows_of(parameter));
  const bool is_matrix = shape.find(' ') != std::string_view::npos;
  const int64_t shared =
      rows_per_block(parameter.name, is_matrix ? std::vector<int64_t>{rows, 1} : std::vector{rows},
                     sheet.config().head_dim());
  const std::string of_rows(rows_of(parameter));
  return shared == 1 ? of_rows : of_rows + "/" + std::to_string(shared);
}

// What a parameter's state is kept as.
void add_state_of(Sheet& sheet, const OptimizerState& state, const Parameter& parameter) {
  const bool small = elements(sheet, parameter) < k8BitSmallest;
  RowInput row{.name = std::string(parameter.name) + "." + state.name,
               .shape = parameter.shape,
               .source = state.source,
               .condition = state.condition,
               .storages = copies(sheet, parameter)};
  if (state.form == StateForm::kMoment && moment_type(sheet) == DType::kBf16) {
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

void add_optimizer_state(Sheet& sheet, const OptimizerState& state) {
  RowInput row{.name = state.name, .source = state.source, .condition = state.condition};
  if (state.form == StateForm::kScalar) {
    row.storages = parameter_tensors(sheet);
    sheet.add(row);
  } else if (state.form == StateForm::kMaps) {
    row.shape = "1024";
    sheet.add(row);
  } else {
    for (const Parameter& parameter : kModelParameters) add_state_of(sheet, state, parameter);
  }
}

// 8-bit states are decoded to FP32 whatever the weights are.
DType temporary_type(const Sheet& sheet, const OptimizerTemporaries& made) {
  if (made.is_mask) return DType::kBool;
  return made.is_decoded ? DType::kFp32 : update_type(sheet);
}

// The first update of all makes the state: there are no old values beside the new ones.
bool updates_again(const RunSpec& spec) { return all_steps(spec) > 1; }

void add_optimizer_temporaries(Sheet& sheet, const OptimizerTemporaries& made) {
  if (made.is_state && !updates_again(sheet.spec())) return;
  const bool one_at_a_time = rounds_stochastically(sheet) || releases_gradients(sheet.spec());
  sheet.begin(made.is_state && !rounds_stochastically(sheet) ? kOptimizerNextState
                                                             : kOptimizerTemporaries);
  if (made.of_all && !one_at_a_time) {
    return add_each(sheet, std::string(".") + made.name, made.source, made.condition,
                    update_type(sheet));
  }
  const auto blocks = [&](const Parameter& parameter) {
    return sheet.token_size(blocks_shape(sheet, parameter));
  };
  const Parameter& largest = made.of_blocks ? largest_by(blocks) : largest_parameter(sheet);
  const int64_t size = elements(sheet, largest);
  if (size < made.at_least || size >= made.below) return;
  // A BF16 gradient in FP32 comes to what is decoded.
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

void add_master_weights(Sheet& sheet) {
  const std::string source = "train/techniques/master_weights.cpp MasterWeights";
  sheet.begin(kMasterWeights);
  add_each(sheet, ".master", source, "what the optimizer updates");
  sheet.begin(kOptimizerTemporaries);
  if (sheet.spec().optimizer_impl != OptimizerImpl::kReference) {
    return add_each(sheet, ".grad_fp32", source + "::update", "all tensors at once");
  }
  const Parameter& largest = largest_parameter(sheet);
  sheet.add({.name = std::string(largest.name) + ".grad_fp32",
             .shape = largest.shape,
             .source = source + "::update",
             .condition = "the optimizer works tensor by tensor; the largest"});
}

void add_widened(Sheet& sheet, const OptimizerInfo& info) {
  const auto moments =
      std::count_if(info.state.begin(), info.state.end(),
                    [](const OptimizerState& state) { return state.form == StateForm::kMoment; });
  const Parameter& largest = largest_parameter(sheet);
  sheet.begin(kOptimizerTemporaries);
  sheet.add({.name = std::string(largest.name) + ".widened",
             .shape = largest.shape,
             .source = "train/techniques/stochastic_rounding.cpp StochasticRounding::update",
             .condition = "weight, gradient and moments in FP32; the largest tensor",
             .storages = 2 + (updates_again(sheet.spec()) ? moments : 0)});
}

// By the optimizer's row in train/optim/table.h.
void add_optimizer(Sheet& sheet) {
  const OptimizerImpl impl = sheet.spec().optimizer_impl;
  const OptimizerInfo& info = info_of(sheet.spec().optimizer);
  sheet.begin(kOptimizerState);
  for (const OptimizerState& state : info.state) {
    if (!state.only || *state.only == impl) add_optimizer_state(sheet, state);
  }
  for (const OptimizerTemporaries& made : info.temporaries) {
    if (made.impl == impl) add_optimizer_temporaries(sheet, made);
  }
  if (sheet.spec().master_weights == MasterCopy::kFp32) add_master_weights(sheet);
  if (rounds_stochastically(sheet)) add_widened(sheet, info);
}

// One at a time, from the end of its node in backward to its update.
void add_released_gradient(Sheet& sheet) {
  sheet.begin(kGradients);
  const Parameter& largest = largest_parameter(sheet);
  sheet.add({.name = std::string(largest.name) + ".grad",
             .shape = largest.shape,
             .dtype = sheet.weight(),
             .source = "train/techniques/gradient_release.cpp GradientRelease::update",
             .condition = "one at a time, inside backward, gone with its update; the largest"});
}

// At its fullest: on CUDA in _foreach_norm, which sums a tensor chunk by chunk; on the CPU, and
// where every tensor is one chunk, when the norms stand side by side.
void add_clipping(Sheet& sheet) {
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

void add_inputs(Sheet& sheet) {
  sheet.begin(kTables);
  for (const char* name : {"cos", "sin"}) {
    sheet.add({.name = name,
               .shape = "S R",
               .source = "model/layers.cpp RotaryTable",
               .condition = "one pair for all blocks"});
  }
  sheet.begin(kInputs);
  const bool in_parts = passes(sheet.spec()) > 1;
  for (const char* name : {"tokens", "targets"}) {
    sheet.add({.name = name,
               .shape = in_parts ? "N*B S" : "B S",
               .dtype = DType::kInt64,
               .source = "train/data/data.cpp Data::batch",
               .condition = "present in every mode"});
  }
  if (!in_parts) return;
  sheet.begin(kBatchLoss);
  sheet.add({.name = "mean",
             .shape = "",
             .source = "train/techniques/micro_batches.cpp BatchLoss::add",
             .condition = "from the end of the first micro-batch on"});
}

void add_loss_scaler(Sheet& sheet) {
  sheet.begin(kLossScaler);
  const std::string source = "train/loss_scaler.cpp LossScaler";
  sheet.add({.name = "scale", .shape = "", .source = source});
  sheet.add({.name = "growth_tracker", .shape = "", .dtype = DType::kInt32, .source = source});
  sheet.add({.name = "found_inf", .shape = "", .source = source});
}

}  // namespace

int64_t parameter_tensors(const Sheet& sheet) {
  int64_t tensors = 0;
  for (const Parameter& parameter : kModelParameters) tensors += copies(sheet, parameter);
  return tensors;
}

int64_t largest_elements(const Sheet& sheet) { return elements(sheet, largest_parameter(sheet)); }

void add_state_rows(Sheet& sheet) {
  const RunSpec& spec = sheet.spec();
  sheet.begin(kParameters);
  const std::string stored =
      sheet.weight() == DType::kFp32 ? "FP32 in every precision" : "BF16, as --weights says";
  add_each(sheet, ".weight", "", stored, sheet.weight());
  if (releases_gradients(spec)) {
    add_released_gradient(sheet);
  } else if (has_backward(spec.profile_type)) {
    sheet.begin(kGradients);
    const std::string complete = passes(spec) > 1
                                     ? "; there from the first backward on, complete with the last"
                                     : "; complete at the end of backward";
    add_each(sheet, ".grad", "train/step.cpp Step::backward",
             stored + complete + ", released with the step", sheet.weight());
  }
  if (spec.profile_type == Mode::kTraining) {
    if (spec.max_grad_norm > 0) add_clipping(sheet);
    add_optimizer(sheet);
  }
  if (sheet.casts_weights()) {
    if (sheet.cpu() && spec.profile_type == Mode::kForward) {
      add_passing_cast(sheet);
    } else {
      add_casts(sheet);
    }
  }
  if (spec.precision == Precision::kFp16 && has_backward(spec.profile_type)) add_loss_scaler(sheet);
  add_inputs(sheet);
}

}  // namespace headroom
