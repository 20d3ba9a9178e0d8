// headroom cards: the data of each card, and its sources.
#include "cards/cards.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "cards/card_json.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/table.h"

namespace headroom {
namespace {

CommandLine cards_command_line() {
  return {
      "cards [NAME...] [flags]",
      "Prints the known cards: memory as the driver reports it, bandwidth, the link to the host,\n"
      "dense peak rates and the memory of a CUDA context. The environment variable\n"
      "HEADROOM_CARDS names a file in the format of --format json that changes or adds cards.",
      {{"format", "WORD", "table, csv, md; json gives the source of every figure (default table)",
        "Output"}},
      true};
}

// The data sheets' format: 0.254, 82.6, 989.4, 2250.
std::string rate(const std::optional<double>& tflops) {
  if (!tflops) return kNotAvailable;
  std::string text = number_text(*tflops, 3);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::vector<std::string> row_of(const Card& card) {
  constexpr double kGibi = 1024.0 * 1024 * 1024;
  constexpr double kMebi = 1024.0 * 1024;
  constexpr double kGiga = 1e9;
  const auto in = [](double unit, int64_t value, int digits) {
    return number_text(static_cast<double>(value) / unit, digits);
  };
  const PeakRates& peak = card.peak_tflops;
  return {card.name,
          card.driver_name,
          card.compute_capability,
          std::to_string(card.multiprocessors),
          in(kGibi, card.total_bytes, 2),
          in(kGiga, card.memory_bandwidth, 0),
          card.host_link,
          in(kGiga, card.host_bandwidth, 1),
          rate(peak.fp64),
          rate(peak.fp32),
          rate(peak.tf32),
          rate(peak.fp16),
          rate(peak.bf16),
          rate(peak.fp8),
          rate(peak.int8),
          in(kMebi, card.context_bytes, 0),
          card.context_measured ? "measured" : "assumed",
          std::to_string(card.total_bytes),
          std::to_string(card.memory_bandwidth),
          std::to_string(card.host_bandwidth),
          std::to_string(card.context_bytes),
          card.refused};
}

Table table_of(const std::vector<Card>& shown) {
  Table table{.title = "Cards",
              .columns = {{"card"},
                          {"driver name"},
                          {"cc"},
                          {"SMs", true},
                          {"GiB", true},
                          {"GB/s", true},
                          {"host link"},
                          {"host GB/s", true},
                          {"fp64", true},
                          {"fp32", true},
                          {"tf32", true},
                          {"fp16", true},
                          {"bf16", true},
                          {"fp8", true},
                          {"int8", true},
                          {"context MiB", true},
                          {"context"},
                          {"total_bytes", true, true},
                          {"memory_bandwidth", true, true},
                          {"host_bandwidth", true, true},
                          {"context_bytes", true, true},
                          {"refused", false, true}}};
  for (const Card& card : shown) {
    table.rows.push_back(row_of(card));
    if (!card.refused.empty()) table.notes.push_back(card.name + ": refused: " + card.refused);
  }
  table.notes.emplace_back(
      "fp64 to int8: dense peaks in TFLOP/s (int8: TOP/s), FP32 accumulation, n/a where the card "
      "has no such unit.");
  table.notes.emplace_back(
      "host GB/s: the peak of the link to the host in one direction; a copy gets less.");
  table.notes.emplace_back(
      "GiB: memory as the driver reports it, 1 GiB = 1024^3 bytes. context: memory of a CUDA "
      "context; --format json gives the source of each figure.");
  return table;
}

// The file format of HEADROOM_CARDS.
std::string json_of(const std::vector<Card>& shown) {
  nlohmann::ordered_json json = {{"compute_capabilities", nlohmann::ordered_json::object()},
                                 {"cards", nlohmann::ordered_json::array()}};
  for (const Card& card : shown) {
    json["compute_capabilities"][card.compute_capability] = to_json(card.limits);
    json["cards"].push_back(to_json(card));
  }
  return json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int print_cards(const Arguments& arguments) {
  const TableFormat format = parse_table_format("--format", arguments.get("format", "table"));
  std::vector<Card> shown;
  for (const std::string& name : arguments.positional) shown.push_back(find_card(name));
  if (shown.empty()) shown = cards();
  print(format == TableFormat::kJson ? json_of(shown)
                                     : to_string(table_of(shown), format, page_width()));
  return kExitOk;
}

}  // namespace

int run_cards_command(int argc, char** argv) {
  return parse_and_run(cards_command_line(), argc, argv, print_cards);
}

}  // namespace headroom
