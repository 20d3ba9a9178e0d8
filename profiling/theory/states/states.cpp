// Memory outside the graph: parameters, gradients, optimizer state, cast weights, tables, inputs.
#include "profiling/theory/activations/checkpoint.h"
#include "profiling/theory/activations/kv_cache.h"
#include "profiling/theory/host/host_parameters.h"
#include "profiling/theory/host/host_update.h"
#include "profiling/theory/row_builder.h"
#include "profiling/theory/states/parameters.h"
#include "profiling/theory/states/update.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

// One of autocast's casts. Norms and biases are in no product, and a token table only if it is the
// head.
void add_cast(RowBuilder& sheet, const ParameterEntry& parameter, int64_t storages,
              const std::vector<std::string>& saved_by, const std::string& condition) {
  sheet.add({.name = parameter.full_name(),
             .shape = parameter.shape,
             .dtype = sheet.compute(),
             .source = "model/layers.cpp Linear::forward: einsum ...i,oi->...o",
             .saved_by = saved_by,
             .condition = condition,
             .storages = storages});
}

const char* why_kept(const RowBuilder& sheet, bool by_nodes) {
  if (sheet.cpu()) return "cast at its use; einsum is on no CPU list, its node keeps the cast";
  return by_nodes ? "cast at its use, goes with the block's weights; its node keeps the cast"
                  : "cast at first use, kept until the guard dies, without a graph too";
}

// See Note [Casts under autocast] in linear.cpp.
void add_casts(RowBuilder& sheet) {
  sheet.begin(kCastCache);
  const bool saves = builds_graph(sheet.spec().profile_type);
  const int64_t again = saves ? recomputed_blocks(sheet.spec()).count() : 0;
  const bool by_nodes = casts_are_their_nodes(sheet.spec());
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    if (!is_cast(sheet, parameter)) continue;
    int64_t kept = copies(sheet, parameter);
    // A recomputed block has no node to keep them.
    if (by_nodes && parameter.in_every_block()) kept = saves ? kept - again : 0;
    if (kept == 0) continue;
    add_cast(sheet, parameter, kept, {"BmmBackward0.mat2"}, why_kept(sheet, by_nodes));
  }
  if (by_nodes && !saves) {
    sheet.begin(kPassingCast);
    for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
      if (!is_cast(sheet, parameter) || !parameter.in_every_block()) continue;
      add_cast(sheet, parameter, 1, {}, "of one block at a time: they go with its weights");
    }
  }
  if (again == 0) return;
  sheet.begin(kRecomputedCast);
  for (const ParameterEntry& parameter : parameter_entries(sheet.config())) {
    if (!is_cast(sheet, parameter) || !parameter.in_every_block()) continue;
    add_cast(sheet, parameter, recomputed_at_once(sheet.spec()), {"BmmBackward0.mat2"},
             "cast again by recomputed operations, one group at a time");
  }
}

void add_passing_cast(RowBuilder& sheet) {
  sheet.begin(kPassingCast);
  add_cast(
      sheet, largest_parameter(sheet, /*cast_only=*/true), 1, {},
      "einsum is on no CPU list; without a graph each cast dies with its product; the largest");
}

void add_generated(RowBuilder& sheet) {
  sheet.add({.name = "prompts",
             .shape = "B I",
             .dtype = DType::kInt64,
             .source = "train/data/data.cpp Data::batch"});
  sheet.add({.name = "tokens",
             .shape = "B J",
             .dtype = DType::kInt64,
             .source = "train/generate/generator.cpp Generator::run",
             .condition = "prompts and generated tokens"});
}

void add_inputs(RowBuilder& sheet) {
  sheet.begin(kTables);
  for (const char* name : {"cos", "sin"}) {
    sheet.add({.name = name,
               .shape = "S R",
               .source = "model/layers.cpp RotaryTable",
               .condition = "one pair for all blocks"});
  }
  sheet.begin(kInputs);
  if (sheet.spec().profile_type == Mode::kGenerate) return add_generated(sheet);
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

void add_loss_scaler(RowBuilder& sheet) {
  sheet.begin(kLossScaler);
  const std::string source = "train/update/loss_scaler.cpp LossScaler";
  sheet.add({.name = "scale", .shape = "", .source = source});
  sheet.add({.name = "growth_tracker", .shape = "", .dtype = DType::kInt32, .source = source});
  sheet.add({.name = "found_inf", .shape = "", .source = source});
}

}  // namespace

void add_state_rows(RowBuilder& sheet) {
  const RunSpec& spec = sheet.spec();
  const std::string stored =
      sheet.weight() == DType::kFp32 ? "FP32 in every precision" : "BF16, by --param-dtype";
  add_parameter_rows(sheet, stored);
  if (releases_gradients(spec)) {
    add_released_gradient(sheet);
  } else if (offloads_optimizer(spec)) {
    add_leaving_gradients(sheet);
  } else if (has_backward(spec.profile_type)) {
    sheet.begin(kGradients);
    const std::string complete = passes(spec) > 1
                                     ? "; there from the first backward on, complete with the last"
                                     : "; complete at the end of backward";
    add_each(sheet, {.name = ".grad",
                     .dtype = sheet.weight(),
                     .source = "train/step.cpp Step::backward",
                     .condition = stored + complete + ", released with the step"});
  }
  if (offloads_optimizer(spec)) {
    add_host_update_rows(sheet);
  } else if (spec.profile_type == Mode::kTraining) {
    add_update_rows(sheet);
  }
  if (sheet.casts_weights()) {
    if (sheet.cpu() && !builds_graph(spec.profile_type)) {
      add_passing_cast(sheet);
    } else {
      add_casts(sheet);
    }
  }
  if (spec.precision == Precision::kFp16 && has_backward(spec.profile_type)) add_loss_scaler(sheet);
  if (spec.profile_type == Mode::kGenerate) add_kv_cache_rows(sheet);
  add_inputs(sheet);
}

}  // namespace headroom
