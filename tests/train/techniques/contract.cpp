#include "tests/train/techniques/contract.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "bench/launch/preparation/compiled_regions.h"
#include "tests/support/at_night.h"
#include "tests/train/support/tiny_spec.h"

namespace headroom {
namespace {

using nlohmann::json;

json rows() {
  std::ifstream file(HEADROOM_SOURCES "/tests/train/techniques/contract.json");
  const json all = json::parse(file);
  json rows = json::array();
  for (const json& row : all.at("rows")) {
    if (is_at_night() || !row.value("at_night", false)) rows.push_back(row);
  }
  return rows;
}

// Small: each row runs some hundred times. adam8bit keeps only the larger matrices in 8 bits;
// micro-batches divide the batch.
RunSpec contract_spec() {
  RunSpec spec = tiny_spec();
  spec.layers = 2;
  spec.d_ff = 128;
  spec.vocab_size = 128;
  spec.context_length = 8;
  spec.batch_size = 4;
  return spec;
}

void set_fields(RunSpec& spec, const json& settings) {
  for (const auto& [name, value] : settings.items()) {
    const Field* field = find_field(name);
    if (field == nullptr) throw std::invalid_argument("contract.json: no field " + name);
    field->set(spec, value.get<std::string>());
  }
}

Compared compared_of(const json& row) {
  const std::string word = row.value("compared", "gradients");
  if (word == "gradients") return Compared::kGradients;
  if (word == "direction") return Compared::kDirection;
  if (word == "weights") return Compared::kWeights;
  throw std::invalid_argument("contract.json: no comparison of " + word);
}

ContractCell cell_of(const json& row, const std::string& precision) {
  const std::string technique = row.at("name");
  ContractCell cell{
      .technique = technique, .name = technique + "_" + precision, .compared = compared_of(row)};
  cell.without = contract_spec();
  find_field("precision")->set(cell.without, precision);
  cell.with = cell.without;
  set_fields(cell.without, row.value("without", json::object()));
  set_fields(cell.with, row.at("settings"));
  validate(cell.without);
  validate(cell.with);
  return cell;
}

// The pairs of a row's settings, without `layers`, which only supports the others.
using Setting = std::pair<std::string, std::string>;
std::set<std::pair<Setting, Setting>> pairs_of(const json& row) {
  std::set<std::pair<Setting, Setting>> pairs;
  const auto settings = row.at("settings").get<std::map<std::string, std::string>>();
  for (auto one = settings.begin(); one != settings.end(); ++one) {
    for (auto other = std::next(one); other != settings.end(); ++other) {
      if (one->first != "layers" && other->first != "layers") pairs.insert({*one, *other});
    }
  }
  return pairs;
}

bool combines(const std::string& technique) {
  return technique.find("_with_") != std::string::npos;
}

// Names of rows that together cover all pairs of settings: greedily, the one with most new pairs.
std::vector<std::string> cover() {
  std::map<std::string, std::set<std::pair<Setting, Setting>>> missing;
  for (const json& row : rows()) {
    if (combines(row.at("name"))) missing[row.at("name")] = pairs_of(row);
  }
  std::vector<std::string> names;
  for (;;) {
    const auto next = std::max_element(missing.begin(), missing.end(), [](auto& a, auto& b) {
      return a.second.size() < b.second.size();
    });
    if (next == missing.end() || next->second.empty()) return names;
    names.push_back(next->first);
    const auto covered = next->second;
    for (auto& [name, pairs] : missing) {
      std::erase_if(pairs, [&](const auto& pair) { return covered.contains(pair); });
    }
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const ContractCell& cell) {
  return out << row_name(cell.with);
}

std::vector<ContractCell> contract_on_cpu() {
  const json exact = {{"fp32", {0, 0}}, {"bf16", {0, 0}}};
  std::vector<ContractCell> cells;
  for (const json& row : rows()) {
    const json precisions = row.value("cpu", exact);
    for (const auto& [precision, tolerance] : precisions.items()) {  // in the order of names
      cells.push_back(cell_of(row, precision));
      cells.back().loss = tolerance.at(0);
      cells.back().gradients = tolerance.at(1);
    }
  }
  return cells;
}

std::vector<ContractCell> share_of(ContractProgram program, std::vector<ContractCell> cells) {
  if (is_at_night()) return cells;
  const auto same = [](const ContractCell& a, const ContractCell& b) {
    return a.technique == b.technique;
  };
  cells.erase(std::unique(cells.begin(), cells.end(), same), cells.end());  // "bf16" < "fp32"
  const std::vector<std::string> covering = cover();
  std::set<std::string> share;
  for (size_t i = static_cast<size_t>(program); i < covering.size(); i += kContractPrograms) {
    share.insert(covering[i]);
  }
  std::erase_if(cells, [&](const ContractCell& cell) {
    return combines(cell.technique) && !share.contains(cell.technique);
  });
  return cells;
}

std::vector<ContractCell> one_precision_by_day(const std::vector<ContractCell>& cells) {
  if (is_at_night()) return cells;
  std::vector<ContractCell> share;
  bool takes_the_last = true;
  for (const ContractCell& cell : cells) {
    if (share.empty() || share.back().technique != cell.technique) {
      takes_the_last = !takes_the_last;
      share.push_back(cell);
    } else if (takes_the_last) {
      share.back() = cell;
    }
  }
  return share;
}

std::vector<ContractCell> contract_on_card() {
  std::vector<ContractCell> cells;
  for (const json& row : rows()) {
    json precisions = row.value("card", json{"fp32", "bf16"});
    std::sort(precisions.begin(), precisions.end());
    for (const json& precision : precisions) cells.push_back(cell_of(row, precision));
  }
  return cells;
}

void compile_for(const RunSpec& spec) {
  if (spec.kernels == Kernels::kCompiled) compile_regions({spec}, {});
}

}  // namespace headroom
