#include "plan/budget/report.h"

#include <algorithm>

#include "profiling/report/rows/cells.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// The verdict's figures that were not measured on this card, each with its source.
void add_assumptions(const InferenceBudget& budget, std::vector<std::string>& lines) {
  const auto add = [&](const BudgetLine& line) {
    if (line.origin != FigureOrigin::kAssumed || line.bytes == 0) return;
    lines.push_back(std::string("that assumes ") + format_bytes(line.bytes) + " for " + line.name +
                    ": " + line.why);
  };
  for (const BudgetLine& line : budget.outside) add(line);
  for (const BudgetLine& line : budget.inside) add(line);
}

// Reasons why the engine would not run, one line each.
std::vector<std::string> warnings(const EngineSpec& spec, const InferenceBudget& budget) {
  std::vector<std::string> lines;
  if (budget.missing > 0) {
    lines.push_back("no cache: the share is " + format_bytes(budget.missing) +
                    " short of weights and activations; more --gpu-memory-utilization or --tp");
  } else if (budget.blocks < budget.blocks_per_sequence) {
    lines.push_back("would not start: one sequence of " + std::to_string(spec.max_model_len) +
                    " tokens needs " +
                    format_bytes(budget.blocks_per_sequence * budget.block_bytes) +
                    " of cache and there are " + format_bytes(budget.cache));
  }
  if (!budget.starts()) {
    lines.push_back("would not start: " + format_bytes(std::max<int64_t>(budget.free_at_start, 0)) +
                    " of the card are free then, and the engine asks for " +
                    format_bytes(budget.share));
  } else if (budget.left < 0) {
    lines.push_back("would run out of memory when CUDA graphs are captured: " +
                    format_bytes(-budget.left) + " short");
  }
  if (!lines.empty()) add_assumptions(budget, lines);
  return lines;
}

Table answer_table(const EngineSpec& spec, const InferenceBudget& budget) {
  Table table{.title = "Inference on " + spec.card.name + ": " + spec.model.name + ", tp " +
                       std::to_string(spec.tp) + ", cache in " + to_string(spec.cache),
              .notes = warnings(spec, budget),
              .columns = {{"model"},
                          {"cache blocks", true},
                          {"cache tokens", true},
                          {"max-model-len", true},
                          {"sequences", true},
                          {"whole sequences", true}}};
  std::vector<std::string> cells = {spec.model.name,
                                    std::to_string(budget.blocks),
                                    std::to_string(budget.tokens(spec)),
                                    std::to_string(spec.max_model_len),
                                    number_text(budget.sequences(), 2),
                                    std::to_string(budget.blocks / budget.blocks_per_sequence)};
  add_bytes_columns(table, "left for training");
  add_bytes_cells(cells, budget.left);
  table.rows.push_back(std::move(cells));
  return table;
}

class LineTable {
 public:
  explicit LineTable(const std::string& title) : table_{.title = title, .columns = {{"line"}}} {
    add_bytes_columns(table_, "memory");
    for (const char* name : {"counted", "figure", "why"}) table_.columns.push_back({name});
  }
  void add(const std::string& name, int64_t bytes, const std::string& counted, FigureOrigin origin,
           const std::string& why) {
    std::vector<std::string> cells = {name};
    add_bytes_cells(cells, bytes);
    cells.insert(cells.end(), {counted, to_string(origin), why});
    table_.rows.push_back(std::move(cells));
  }
  void add(const std::vector<BudgetLine>& lines, const std::string& counted) {
    for (const BudgetLine& line : lines) {
      add(line.name, line.bytes, counted, line.origin, line.why);
    }
  }
  Table table_;
};

std::vector<std::string> notes_of(const EngineSpec& spec) {
  std::vector<std::string> notes = {
      "share = inside lines + KV cache; left for training = card - share - outside lines.",
      "figure: an assumed figure replaces a measurement; give the figures of your own log "
      "(--activation-memory, "
      "--non-torch-memory, --graph-memory)."};
  if (!spec.enforce_eager) {
    notes.emplace_back(
        spec.graphs_inside
            ? "vLLM 0.21 and later: CUDA graphs are estimated before the cache is made, inside the "
              "share."
            : "vLLM up to 0.20: CUDA graphs come after the cache, outside the share; 0.21 and "
              "later: --graphs-inside.");
  }
  notes.emplace_back(kUnitsNote);
  return notes;
}

Table line_table(const EngineSpec& spec, const InferenceBudget& budget) {
  LineTable table("Where the card's memory goes, per GPU");
  table.add("Card", spec.card.total_bytes, "-", FigureOrigin::kGiven, spec.card.name);
  table.add(budget.outside, "outside");
  if (spec.cache_bytes) {
    table.add("Share", budget.share, "-", FigureOrigin::kComputed,
              "the cache's size is given: inside lines + cache; utilization has no effect");
  } else {
    table.add("Share", budget.share, "-", FigureOrigin::kComputed,
              "gpu-memory-utilization x card = " + number_text(spec.utilization, 3) + " x " +
                  format_bytes(spec.card.total_bytes));
  }
  table.add(budget.inside, "inside");
  table.add("KV cache", budget.cache, "inside",
            spec.cache_bytes ? FigureOrigin::kGiven : FigureOrigin::kComputed,
            std::to_string(budget.blocks) + " blocks of " + std::to_string(spec.block_size) +
                " tokens, " + format_bytes(budget.block_bytes) +
                " each: 2 x layers x key/value heads of this rank x head dimension x " +
                std::to_string(bytes_of(spec.cache)) + " B");
  table.add("Left for training", budget.left, "-", FigureOrigin::kComputed,
            "card - share - outside lines");
  table.table_.notes = notes_of(spec);
  return table.table_;
}

}  // namespace

std::vector<Table> budget_report(const EngineSpec& spec) {
  const InferenceBudget budget = inference_budget(spec);
  return {answer_table(spec, budget), line_table(spec, budget)};
}

}  // namespace headroom
