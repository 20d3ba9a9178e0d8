#include "profiling/compare/result.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "files/mapped_file.h"
#include "profiling/record/record_reader.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr std::string_view kOfContext = "headroom_";

Result result_of(Record record) {
  std::string name = row_name(record.spec);
  return {.name = std::move(name), .record = std::move(record)};
}

bool is_benchmarks(const json& document) {
  return document.is_object() && document.contains("benchmarks") && document.contains("context");
}

double in_milliseconds(const json& benchmark) {
  static const std::map<std::string, double> kUnits = {
      {"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}};
  const auto unit = kUnits.find(benchmark.value("time_unit", "ns"));
  return benchmark.value("real_time", 0.0) * (unit == kUnits.end() ? 1 : unit->second);
}

json environment_of(const json& context) {
  json environment = json::object();
  for (const auto& [key, value] : context.items()) {
    const bool ours = key.starts_with(kOfContext) && key != "headroom_first_spec";
    if (ours) environment[key.substr(kOfContext.size())] = value;
  }
  for (const char* key : {"host_name", "num_cpus", "cpu_scaling_enabled", "library_build_type"}) {
    if (context.contains(key)) environment[key] = context[key];
  }
  return environment;
}

void add_repetition(const json& benchmark, Result& result) {
  if (benchmark.value("error_occurred", false)) {
    result.record.status = Status::kFailed;
    result.record.reason = benchmark.value("error_message", "");
    return;
  }
  result.record.step_ms.push_back(in_milliseconds(benchmark));
  if (benchmark.contains("peak_allocated_bytes")) {
    const auto bytes = static_cast<int64_t>(benchmark["peak_allocated_bytes"].get<double>());
    result.record.peak = MemoryBytes{.allocated = bytes};
  }
}

std::vector<Result> results_of_benchmarks(const json& document) {
  std::vector<Result> results;
  const SharedJson environment = environment_of(document["context"]);
  for (const json& benchmark : document["benchmarks"]) {
    if (benchmark.value("run_type", "iteration") != "iteration") continue;
    const std::string name = benchmark.value("run_name", benchmark.value("name", ""));
    auto result = std::find_if(results.begin(), results.end(),
                               [&](const Result& each) { return each.name == name; });
    if (result == results.end()) {
      result = results.insert(results.end(), Result{.name = name, .has_spec = false});
      result->record.status = Status::kOk;
      result->record.environment = environment;
    }
    add_repetition(benchmark, *result);
  }
  return results;
}

// Empty if it is no such file. Benchmarks are one object over many lines, with "context" first.
std::vector<Result> benchmarks_of_file(const std::string& path) {
  try {
    const MappedFile file(path);
    const std::string_view begin = file.bytes().substr(0, 100);
    if (begin.find("\"context\"") == std::string_view::npos) return {};
    return results_of_output(file.bytes());
  } catch (const ReadError&) {
    return {};  // a pipe, or nothing that can be read: the reader of Records says so
  }
}

std::string_view next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace

std::vector<Result> results_of_output(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (is_benchmarks(document)) return results_of_benchmarks(document);
  std::vector<Result> results;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (!line.starts_with('{')) continue;
    try {
      results.push_back(result_of(record_from_line(line)));
    } catch (const std::invalid_argument&) {
      // another program's line
    }
  }
  return results;
}

std::vector<Result> results_of_file(const std::string& path, SkippedLines* skipped) {
  std::vector<Result> results = benchmarks_of_file(path);
  if (!results.empty()) return results;
  for (Record& record : read_records(path, skipped))
    results.push_back(result_of(std::move(record)));
  if (results.empty()) throw std::runtime_error(path + ": no Records");
  return results;
}

}  // namespace headroom
