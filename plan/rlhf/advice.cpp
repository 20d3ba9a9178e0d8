// Tables of the plan's advice: recommended set-up, growth with the batch, optimizer offload.
#include <algorithm>

#include "plan/rlhf/report.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

struct Split {
  int64_t fixed = 0, cache = 0, activations = 0, other = 0;
  int64_t scaling() const { return cache + activations + other; }
};

Split split_of(const RankMemory& memory) {
  Split split;
  for (const Component& component : memory.components) {
    if (!component.scales) {
      split.fixed += component.bytes;
    } else if (component.kind == ComponentKind::kKvCache) {
      split.cache += component.bytes;
    } else if (component.kind == ComponentKind::kActivations &&
               component.needed_in(RlhfPhase::kTraining)) {
      split.activations += component.bytes;
    } else {
      split.other += component.bytes;
    }
  }
  return split;
}

Table scaling_table(const RlhfPlan& plan) {
  const Split now = split_of(plan.worst);
  Table table{.title = "Memory that grows with the batch", .columns = {{"batch size", true}}};
  for (const char* name : {"KV cache", "training activations", "fullest phase"}) {
    add_bytes_columns(table, name);
  }
  table.columns.push_back({"one GPU"});
  for (const int64_t batch : {1, 2, 4, 8, 16, 32}) {
    RlhfSpec spec = plan.spec;
    spec.batch_size = batch;
    if (!is_computable(spec)) break;
    const RankMemory memory = batch == plan.spec.batch_size
                                  ? plan.worst
                                  : worst_rank(spec, RlhfModels(spec, plan.models));
    const Split split = split_of(memory);
    const int64_t peak = memory.peak_bytes(spec.setup.swap_phases);
    std::vector<std::string> cells = {std::to_string(batch)};
    for (const int64_t bytes : {split.cache, split.activations, peak}) {
      add_bytes_cells(cells, bytes);
    }
    cells.emplace_back(peak <= spec.card.total_bytes ? "fits" : "exceeds");
    table.rows.push_back(std::move(cells));
  }
  table.notes = {
      "Batch " + std::to_string(plan.spec.batch_size) + ", all at once: fixed " +
      format_bytes(now.fixed) + " (weights, gradients, optimizer, context, workspaces), scaling " +
      format_bytes(now.scaling()) + " (KV cache, activations, temporaries, experience)."};
  if (plan.spec.setup.micro_batch_size > 0) {
    table.notes.push_back("Micro-batches stay at " +
                          std::to_string(plan.spec.setup.micro_batch_size) +
                          ", so beyond it activations grow with the pipeline only.");
  }
  return table;
}

Table offload_table(const RlhfPlan& plan) {
  Table table{.title = "Optimizer offload", .columns = {{"training phase"}}};
  for (const char* name : {"per GPU", "in host memory per GPU"}) add_bytes_columns(table, name);
  table.columns.push_back({"one GPU"});
  for (const MemorySpace space : {MemorySpace::kDevice, MemorySpace::kHost}) {
    RlhfSpec spec = plan.spec;
    spec.setup.optimizer_space = space;
    const RankMemory memory = worst_rank(spec, plan.models);
    const int64_t bytes = memory.phase_bytes(RlhfPhase::kTraining, spec.setup.swap_phases);
    std::vector<std::string> cells = {spec.setup.offloads_optimizer() ? "with optimizer offload"
                                                                      : "without offload"};
    add_bytes_cells(cells, bytes);
    add_bytes_cells(cells, memory.host_bytes(spec.setup.swap_phases));
    cells.push_back(verdict(bytes, spec.card.total_bytes));
    table.rows.push_back(std::move(cells));
  }
  table.notes = {"Gradients go to the host as backward makes them."};
  return table;
}

std::string flags_of(const RlhfSpec& spec) {
  const RlhfSetup& setup = spec.setup;
  const Layout& layout = setup.layout;
  std::string flags = "--tp " + std::to_string(layout.tp) + " --pp " + std::to_string(layout.pp) +
                      " --dp " + std::to_string(layout.dp) + " --zero " +
                      std::to_string(layout.zero);
  if (layout.sequence_parallel) flags += " --sequence-parallel";
  if (setup.micro_batch_size < spec.batch_size) {
    flags += " --micro-batch-size " + std::to_string(setup.micro_batch_size);
  }
  if (setup.checkpoint.kind != CheckpointKind::kNone) {
    flags += " --recompute " + to_string(setup.checkpoint);
  }
  if (setup.reference == Reference::kOffload) flags += " --reference offload";
  if (setup.swap_phases) flags += " --swap-phases";
  if (setup.offloads_optimizer()) flags += " --optimizer-offload";
  return flags;
}

Table setup_table(const RlhfPlan& plan) {
  const Recommendation& found = plan.recommendation;
  const RlhfSpec& spec = plan.spec;
  Table table{.title = "Recommended set-up: " + spec.actor.name + " on " +
                       std::to_string(spec.num_gpus) + " x " + spec.card.name,
              .columns = {{"", true}, {"set-up"}}};
  for (const char* name : {"peak", "margin", "in host memory"}) add_bytes_columns(table, name);
  for (const char* name : {"fullest", "GPU"}) table.columns.push_back({name});
  const auto add = [&](const std::string& number, const Recommended& one) {
    std::vector<std::string> cells = {number, flags_of(one.spec)};
    const int64_t host = one.worst.host_bytes(one.spec.setup.swap_phases);
    for (const int64_t bytes : {one.peak, one.margin(), host}) {
      add_bytes_cells(cells, bytes);
    }
    cells.push_back(to_string(one.phase));
    cells.push_back(rank_in_words(one.spec, one.worst.stage));
    table.rows.push_back(std::move(cells));
  };
  for (size_t i = 0; i < found.fitting.size(); ++i) add(std::to_string(i + 1), found.fitting[i]);
  if (found.nearest) add("-", *found.nearest);
  table.notes.push_back(grouped(found.tried) +
                        " set-ups tried; cheapest first, in this order of costs: " +
                        CostOrder().in_words(TechniqueScope::kInPlans) + ".");
  if (found.nearest) {
    table.notes.push_back("NOTHING FITS: the set-up above needs least and is short by " +
                          format_bytes(-found.nearest->margin()) + " per GPU in " +
                          to_string(found.nearest->phase) + ".");
    table.notes.push_back(found.gpus_that_fit > 0
                              ? "With " + grouped(found.gpus_that_fit) + " GPUs a set-up fits."
                              : "No set-up with up to 65,536 GPUs fits.");
  }
  return table;
}

Table reason_table(const std::vector<Recommended>& fitting) {
  Table table{.title = "Why each step is needed",
              .columns = {{"", true}, {"technique"}, {"why"}},
              .keys = 2};
  for (size_t i = 0; i < fitting.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    for (const Reason& reason : fitting[i].reasons) {
      table.rows.push_back({number, reason.technique, reason.why});
    }
    if (fitting[i].reasons.empty()) {
      table.rows.push_back({number, "none", "it fits as it is: a simple co-located set-up"});
    }
  }
  return table;
}

// The largest components when nothing fits.
Table largest_table(const Recommended& nearest) {
  constexpr size_t kMost = 5;
  Table table{.title = "Components of the nearest set-up", .columns = {{"component"}}};
  add_bytes_columns(table, "memory");
  std::vector<Component> present =
      largest_first(nearest.worst.in_phase(nearest.phase, nearest.spec.setup.swap_phases));
  present.resize(std::min(present.size(), kMost));
  for (const Component& component : present) {
    std::vector<std::string> cells = {component.name};
    add_bytes_cells(cells, component.bytes);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table insight_table(const RlhfPlan& plan) {
  const RlhfSpec& spec = plan.spec;
  int64_t weights = 0, optimizer = 0, models = 0;
  for (const Component& component : plan.worst.components) {
    if (!component.resident) continue;
    if (component.kind == ComponentKind::kOptimizer) optimizer += component.bytes;
    if (component.kind != ComponentKind::kWeights) continue;
    weights += component.bytes;
    ++models;
  }
  Table table{.title = "Key figures", .columns = {{"quantity"}, {"figure"}}};
  const auto add = [&](const std::string& what, const std::string& figure) {
    table.rows.push_back({what, figure});
  };
  add(std::to_string(models) + " models' weights, per GPU", format_bytes(weights));
  const int64_t training = plan.worst.phase_bytes(RlhfPhase::kTraining, spec.setup.swap_phases);
  add("optimizer states, per GPU",
      format_bytes(optimizer) + ", " + percent(optimizer, training) + " of the training phase");
  std::vector<std::string> phases;
  for (const RlhfPhase phase : phases_of(spec)) {
    phases.push_back(to_string(phase) + " " + format_bytes(plan.worst.phase_bytes(phase, true)));
  }
  add("need of each phase, without idle states", join(phases));
  RlhfSpec twice = spec;
  twice.batch_size *= 2;
  if (is_computable(twice)) {
    const int64_t grown = worst_rank(twice, RlhfModels(twice, plan.models))
                              .phase_bytes(RlhfPhase::kTraining, spec.setup.swap_phases) -
                          training;
    add("twice the batch", "+" + format_bytes(grown) + " in the training phase");
  }
  if (spec.generates()) {
    const int64_t cache = kv_cache_bytes(spec, 0);
    add("KV cache per 1,024 tokens of a sequence",
        format_bytes(cache / spec.batch_size * 1024 / spec.seq_len) +
            "; eight times the tokens, eight times the cache");
  }
  return table;
}

}  // namespace

std::vector<Table> setup_report(const RlhfPlan& plan) {
  const Recommendation& found = plan.recommendation;
  std::vector<Table> tables = {setup_table(plan)};
  if (!found.fitting.empty()) tables.push_back(reason_table(found.fitting));
  if (found.nearest) tables.push_back(largest_table(*found.nearest));
  return tables;
}

std::vector<Table> advice_report(const RlhfPlan& plan) {
  return {scaling_table(plan), offload_table(plan), insight_table(plan)};
}

}  // namespace headroom
