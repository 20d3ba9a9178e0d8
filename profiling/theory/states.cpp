// What lives outside the graph: parameters, gradients, optimizer state, cast weights, tables,
// inputs.
#include <algorithm>

#include "profiling/theory/sheet.h"

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
    {"ln1", "D", true, false, "model/layers.cpp RmsNormImpl"},
    {"attn.q_proj", "D D", true, true, "model/attention.cpp CausalSelfAttentionImpl"},
    {"attn.k_proj", "G*K D", true, true, "model/attention.cpp CausalSelfAttentionImpl"},
    {"attn.v_proj", "G*K D", true, true, "model/attention.cpp CausalSelfAttentionImpl"},
    {"attn.output_proj", "D D", true, true, "model/attention.cpp CausalSelfAttentionImpl"},
    {"ln2", "D", true, false, "model/layers.cpp RmsNormImpl"},
    {"ffn.w1", "F D", true, true, "model/layers.cpp SwiGluImpl"},
    {"ffn.w2", "D F", true, true, "model/layers.cpp SwiGluImpl"},
    {"ffn.w3", "F D", true, true, "model/layers.cpp SwiGluImpl"},
    {"ln_final", "D", false, false, "model/layers.cpp RmsNormImpl"},
    {"lm_head", "V D", false, true, "model/transformer.cpp TransformerImpl"},
};

int64_t copies(const Sheet& sheet, const Parameter& parameter) {
  return parameter.in_every_block ? sheet.config().layers : 1;
}

void add_each(Sheet& sheet, const std::string& name, const std::string& source,
              const std::string& condition) {
  for (const Parameter& parameter : kModelParameters) {
    sheet.add({.name = std::string(parameter.name) + name,
               .shape = parameter.shape,
               .source = source.empty() ? parameter.source : source,
               .condition = condition,
               .storages = copies(sheet, parameter)});
  }
}

void add_casts(Sheet& sheet) {
  sheet.begin(kCastCache);
  for (const Parameter& parameter : kModelParameters) {
    if (!parameter.in_linear) continue;
    sheet.add({.name = std::string(parameter.name) + ".weight",
               .shape = parameter.shape,
               .dtype = sheet.low(),
               .source = "train/precision.cpp AutocastGuard",
               .condition =
                   "cast at first use, kept until the guard dies, without a graph too; the "
                   "token table and the norm weights meet no matrix product",
               .storages = copies(sheet, parameter)});
  }
}

// Most bytes of temporaries alive at once in Adamw::step(), beyond gradients and state.
void add_optimizer_temporaries(Sheet& sheet) {
  sheet.begin(kOptimizerTemporaries);
  if (sheet.spec().optimizer_impl == OptimizerImpl::kFused) return;  // in place, no temporaries
  if (sheet.spec().optimizer_impl == OptimizerImpl::kForeach) {
    add_each(sheet, ".denominator", "train/optim/adamw.cpp step_foreach: _foreach_sqrt",
             "all tensors at once");
    return;
  }
  const auto elements = [&](const Parameter& parameter) {
    int64_t product = 1;
    for (const char* c = parameter.shape; *c != '\0'; ++c) {
      if (*c != ' ' && *c != '*') product *= sheet.size(*c);
    }
    return product;
  };
  const Parameter& largest = *std::max_element(
      std::begin(kModelParameters), std::end(kModelParameters),
      [&](const Parameter& a, const Parameter& b) { return elements(a) < elements(b); });
  sheet.add({.name = std::string(largest.name) + ".temporaries",
             .shape = largest.shape,
             .source = "train/optim/adamw.cpp step_reference",
             .condition =
                 "m, v, update, sqrt(v) and sqrt(v) + eps of the largest tensor, on top of "
                 "the old m and v",
             .storages = 5});
}

void add_optimizer(Sheet& sheet) {
  sheet.begin(kOptimizerState);
  add_each(sheet, ".m", "train/optim/adamw.cpp Adamw::step", "FP32 in every precision");
  add_each(sheet, ".v", "train/optim/adamw.cpp Adamw::step", "FP32 in every precision");
  if (sheet.spec().optimizer_impl == OptimizerImpl::kFused) {
    int64_t tensors = 0;
    for (const Parameter& parameter : kModelParameters) tensors += copies(sheet, parameter);
    sheet.add({.name = "step",
               .shape = "",
               .source = "train/optim/adamw.cpp Adamw::step",
               .condition = "the fused kernel counts steps per tensor",
               .storages = tensors});
  }
  add_optimizer_temporaries(sheet);
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
  for (const char* name : {"tokens", "targets"}) {
    sheet.add({.name = name,
               .shape = "B S",
               .dtype = DType::kInt64,
               .source = "train/data/data.cpp Data::batch",
               .condition = "present in every mode"});
  }
}

void add_loss_scaler(Sheet& sheet) {
  sheet.begin(kLossScaler);
  const std::string source = "train/loss_scaler.cpp LossScaler";
  sheet.add({.name = "scale", .shape = "", .source = source});
  sheet.add({.name = "growth_tracker", .shape = "", .dtype = DType::kInt32, .source = source});
  sheet.add({.name = "found_inf", .shape = "", .source = source});
}

}  // namespace

void add_state_rows(Sheet& sheet) {
  const RunSpec& spec = sheet.spec();
  sheet.begin(kParameters);
  add_each(sheet, ".weight", "", "FP32 in every precision");
  if (has_backward(spec.mode)) {
    sheet.begin(kGradients);
    add_each(sheet, ".grad", "train/step.cpp Step::backward",
             "FP32 in every precision; complete at the end of backward, released with the step");
  }
  if (spec.mode == Mode::kTraining) add_optimizer(sheet);
  if (sheet.autocast()) add_casts(sheet);
  if (spec.precision == Precision::kFp16 && has_backward(spec.mode)) add_loss_scaler(sheet);
  add_inputs(sheet);
}

}  // namespace headroom
