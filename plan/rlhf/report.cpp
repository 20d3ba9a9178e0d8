#include "plan/rlhf/report.h"

#include <algorithm>

#include "model/parameter_table.h"
#include "plan/closed_form/formula.h"
#include "plan/rlhf/transitions.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr int64_t kBarWidth = 30;

std::string bar(int64_t bytes, int64_t most, const TextStyle& style) {
  if (most <= 0) return "";
  std::string text;
  const double length = static_cast<double>(bytes) / static_cast<double>(most) * kBarWidth;
  for (int64_t i = 0; i < static_cast<int64_t>(length); ++i) text += style.ascii ? "#" : "\u2588";
  return text.empty() && bytes > 0 ? "." : text;
}

std::string why(const Component& component, bool idle) {
  return (idle ? "idle here; " : "") + std::string(component.why);
}

Table component_table(const std::string& title, const RlhfPlan& plan,
                      const std::vector<Component>& components, std::optional<RlhfPhase> phase,
                      int64_t most, const TextStyle& style) {
  Table table{.title = title, .columns = {{"component"}}};
  add_bytes_columns(table, "memory");
  if (style.bars) table.columns.push_back({.name = "", .picture = true});
  for (const char* name : {"basis", "why"}) table.columns.push_back({name});
  const auto add = [&](const std::string& name, int64_t bytes, const std::string& basis,
                       const std::string& reason, bool drawn) {
    std::vector<std::string> cells = {name};
    add_bytes_cells(cells, bytes);
    if (style.bars) cells.push_back(drawn ? bar(bytes, most, style) : "");
    cells.push_back(basis);
    cells.push_back(reason);
    table.rows.push_back(std::move(cells));
  };
  for (const Component& component : largest_first(components)) {
    const bool idle = phase && !component.needed_in(*phase);
    add(component.name, component.bytes, component.basis, why(component, idle), true);
  }
  const int64_t bytes = sum(components);
  add("TOTAL", bytes, "", "", false);
  table.notes.push_back(verdict(bytes, plan.spec.card.total_bytes));
  return table;
}

Table configuration(const RlhfPlan& plan) {
  const RlhfSpec& spec = plan.spec;
  Table table{.title = "RLHF memory timeline: " + spec.actor.name, .columns = {{"setting"}, {""}}};
  const auto add = [&](const char* name, const std::string& value) {
    table.rows.push_back({name, value});
  };
  const auto parameters = [](const RlhfModels::Model& model) {
    return grouped(model.elements.total()) + " parameters";
  };
  const auto more_than_its_name = [](const ModelConfig& shape) -> std::string {
    const auto& known = closed_form_models();
    const auto named = std::find_if(known.begin(), known.end(), [&](const ClosedFormModel& model) {
      return model.name == shape.name;
    });
    if (named == known.end()) return "";
    const auto billions = static_cast<int64_t>(named->params_billions * 1e9);
    return ", " + signed_percent(parameter_count(shape) - billions, billions) + " of its name";
  };
  add("actor",
      spec.actor.name + ", " + parameters(plan.models.actor) + more_than_its_name(spec.actor));
  add("critic", spec.critic ? spec.critic->name + ", " + parameters(*plan.models.critic) : "none");
  add("reward model",
      spec.reward ? spec.reward->name + ", " + parameters(*plan.models.reward) : "none");
  add("reference model", to_string(spec.setup.reference));
  add("batch", std::to_string(spec.batch_size) + " sequences per replica, " +
                   grouped(spec.prompt_len()) + " tokens of prompt + " +
                   grouped(spec.response_len) + " of response, micro-batches of " +
                   std::to_string(spec.micro_batch()));
  add("GPUs", std::to_string(spec.num_gpus) + " x " + spec.card.name + ", " +
                  format_bytes(spec.card.total_bytes) + " each");
  add("layout", to_string(spec.setup.layout));
  add("precision", spec.precision.name + ": " + states_in_words(spec.precision, spec.optimizer));
  add("optimizer", in_words(spec.optimizer) + ", " + to_string(spec.implementation()));
  add("attention", to_string(spec.attention) + ", checkpoint " + to_string(spec.setup.checkpoint));
  add("KV cache", to_string(spec.cache));
  add("optimizer offload", spec.setup.offloads_optimizer() ? "yes" : "no");
  add("phases", spec.setup.swap_phases ? "swapped: idle states are in host memory"
                                       : "everything stays on the GPU");
  add("shown", rank_in_words(spec, plan.worst.stage));
  add("training phase", plan.worst.training);
  table.notes = {
      "For one GPU: the one that needs most. Nothing was run. Not counted: the "
      "allocator's fragmentation.",
      kUnitsNote};
  return table;
}

Table transition_table(const std::string& title, const std::vector<Transition>& rows,
                       const Card& card) {
  Table table{.title = title, .columns = {{"transition"}}};
  for (const char* name : {"freed", "to host", "from host"}) add_bytes_columns(table, name);
  table.columns.push_back({"seconds", true});
  table.columns.push_back({"action"});
  for (const Transition& row : rows) {
    std::vector<std::string> cells = {row.name};
    for (const int64_t bytes : {row.freed, row.to_host, row.from_host}) {
      add_bytes_cells(cells, bytes);
    }
    cells.push_back(number_text(row.seconds, 2));
    cells.push_back(row.what);
    table.rows.push_back(std::move(cells));
  }
  table.notes = {"Over " + card.host_link + " at its peak of " +
                 number_text(static_cast<double>(card.host_bandwidth) / 1e9, 1) +
                 " GB/s in one direction: real copies take longer."};
  return table;
}

}  // namespace

std::string verdict(int64_t bytes, int64_t available) {
  const std::string of = format_bytes(bytes) + " of " + format_bytes(available);
  if (bytes <= available) {
    return "FITS: " + of + ", " + percent(bytes, available) + " used, " +
           format_bytes(available - bytes) + " left per GPU";
  }
  const double factor = static_cast<double>(bytes) / static_cast<double>(available);
  return "EXCEEDS: " + of + ", " + number_text(factor, 2) + " times the memory, short by " +
         format_bytes(bytes - available) + " per GPU";
}

RlhfPlan::RlhfPlan(const RlhfSpec& given)
    : spec(given),
      models(given),
      worst(worst_rank(given, models)),
      recommendation(recommend(given)) {}

std::vector<Table> phase_report(const RlhfPlan& plan, const TextStyle& style) {
  const RlhfSpec& spec = plan.spec;
  const bool swap = spec.setup.swap_phases;
  std::vector<Table> tables = {configuration(plan)};
  int64_t most = 0;
  for (const Component& component : plan.worst.components) {
    most = std::max(most, component.bytes);
  }
  for (const RlhfPhase phase : phases_of(spec)) {
    tables.push_back(component_table("Phase: " + to_string(phase), plan,
                                     plan.worst.in_phase(phase, swap), phase, most, style));
  }
  tables.push_back(component_table("Worst case: everything at once", plan, plan.worst.components,
                                   std::nullopt, most, style));
  std::vector<Transition> moves = transitions(spec, plan.worst, swap);
  const std::vector<Transition> within = traffic_within_phases(spec, plan.models, plan.worst);
  moves.insert(moves.end(), within.begin(), within.end());
  if (!moves.empty()) tables.push_back(transition_table("Transitions", moves, spec.card));
  if (!swap && phases_of(spec).size() > 1) {
    tables.push_back(transition_table("Transitions, were --swap-phases given",
                                      transitions(spec, plan.worst, true), spec.card));
  }
  const int64_t host = plan.worst.host_bytes(swap);
  if (host > 0) {
    const int64_t gpus = std::min(spec.num_gpus, kGpusPerNode);
    tables.back().notes.push_back("In host memory: " + format_bytes(host) + " per GPU, " +
                                  format_bytes(gpus * host) + " per node of " +
                                  std::to_string(gpus) + ".");
  }
  return tables;
}

}  // namespace headroom
