// Queries headroom-cell for its identity, and for the validity of an --alloc-conf.
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string_view>

#include "bench/launch/cell.h"
#include "bench/launch/cell_process.h"
#include "bench/launch/ending.h"
#include "bench/launch/request.h"
#include "bench/process/torch_folder.h"
#include "bench/process/virtual_card.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::json;

// Mapping libtorch from a cold disk takes time; beyond this the program hangs.
constexpr double kDeadlineSeconds = 120;

Outcome ask(const CellOptions& options, const char* what, std::vector<std::string> environment,
            StderrRelay& talk) {
  return run_command({.program = cell_program(options),
                      .arguments = {what},
                      .environment = std::move(environment),
                      .input = {},
                      .deadline_seconds = kDeadlineSeconds,
                      .on_error_line = talk.listener()});
}

// The environment without the allocator's settings.
std::vector<std::string> plain_environment() {
  return changed_environment({"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}, with_torch({}));
}

// "; written key:value,key:value; keys: backend, expandable_segments, ...". "" if the program does
// not answer.
std::string allowed_keys(const CellOptions& options) {
  const std::function<void(const std::string&)> nobody;
  StderrRelay talk(nobody);
  const Outcome outcome = ask(options, "--alloc-conf-keys", plain_environment(), talk);
  const json keys = json::parse(outcome.output, nullptr, /*allow_exceptions=*/false);
  if (!keys.is_array()) return "";
  return "; written key:value,key:value; keys: " + join(keys.get<std::vector<std::string>>());
}

// For people: without text for libtorch's own developers, or bare C++.
std::string reason_of(std::string text) {
  constexpr std::string_view kReport = "please report a bug to PyTorch. ";
  if (const size_t at = text.find(kReport); at != std::string::npos) {
    text.erase(0, at + kReport.size());
  }
  if (text == "stoull" || text == "stod") return "a value is no number";
  if (text.starts_with("Index out of bounds")) return "it ends where a value is expected";
  while (text.ends_with('.')) text.pop_back();
  return text;
}

// The variable that sets it without an --alloc-conf; null if there is none.
const char* variable_of_the_environment() {
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    if (getenv(name) != nullptr) return name;
  }
  return nullptr;
}

// Refuses allocators other than libtorch's caching one, whose memory libtorch does not record.
// libtorch tests the first variable's presence, not its value.
void check_allocator(const RunSpec& spec) {
  constexpr const char* kNoCaching = "PYTORCH_NO_CUDA_MEMORY_CACHING";
  if (spec.device.kind == DeviceKind::kCpu || spec.record_steps == 0) return;
  if (const char* value = getenv(kNoCaching); value != nullptr) {
    throw UsageError(kNoCaching, value,
                     "switches off libtorch's caching allocator, the only one that is recorded; "
                     "allowed: not set, or --record-steps 0",
                     "--record-steps 0");
  }
  const char* variable = spec.alloc_conf.empty() ? variable_of_the_environment() : nullptr;
  const std::string conf = variable != nullptr ? getenv(variable) : spec.alloc_conf;
  if (conf.find("backend:cudaMallocAsync") == std::string::npos) return;
  throw UsageError(
      variable != nullptr ? variable : "--alloc-conf", conf,
      "selects CUDA's allocator, and libtorch records none of its allocations; allowed: "
      "backend:native, or --record-steps 0",
      "--record-steps 0");
}

}  // namespace

namespace {

bool is_identity(const json& answer) {
  return answer.is_object() && answer.contains("build") && answer.contains("libtorch");
}

// Nothing where only a process of its own can tell.
std::optional<json> identity_by_worker(const CellOptions& options, const RunSpec& first) {
  if (!may_be_served(first, options) || has_nvidia_card()) return std::nullopt;
  const CellProcess process(first, options);
  std::unique_ptr<CellWorker> worker =
      options.workers->take(process.program(), process.environment());
  const auto answer = worker->ask_aside(std::string(kIdentityRequest) + "\n", kDeadlineSeconds);
  if (!answer) return std::nullopt;
  json identity = json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  if (!is_identity(identity)) return std::nullopt;
  options.workers->give_back(std::move(worker));
  return identity;
}

}  // namespace

json cell_identity(const CellOptions& options, const RunSpec& first) {
  if (std::optional<json> identity = identity_by_worker(options, first)) return *identity;
  return cell_identity(options);
}

json cell_identity(const CellOptions& options, const std::vector<std::string>& environment) {
  StderrRelay talk(options.on_talk);
  const Outcome outcome =
      ask(options, "--identity", changed_environment({}, with_torch(environment)), talk);
  const auto refuse = [&](const std::string& problem) {
    throw std::runtime_error("cannot run " + cell_program(options) + ": " + problem);
  };
  if (!outcome.spawn_error.empty()) refuse(outcome.spawn_error);
  if (outcome.interrupted) refuse("interrupted");
  if (outcome.timed_out) {
    refuse("no answer to --identity within " + seconds_text(kDeadlineSeconds));
  }
  if (lacks_a_library(outcome)) {
    throw std::runtime_error(missing_library(cell_program(options), outcome));
  }
  if (outcome.signal != 0) refuse(ending(outcome, talk));
  if (outcome.exit_code != 0) refuse(with_last_line(ending(outcome, talk), outcome));
  try {
    json identity = json::parse(only_line(outcome.output));
    if (is_identity(identity)) return identity;
  } catch (const std::exception&) {
    // The same answer as for JSON of another kind.
  }
  refuse("its answer to --identity is not JSON with build and libtorch");
  return {};
}

void check_alloc_conf(const std::string& conf, const CellOptions& options) {
  const char* variable = conf.empty() ? variable_of_the_environment() : nullptr;
  if (conf.empty() && variable == nullptr) return;
  const std::function<void(const std::string&)> nobody;  // its output is a backtrace
  StderrRelay talk(nobody);
  const Outcome outcome =
      ask(options, "--alloc-conf-keys", torch_environment(conf, with_torch({})), talk);
  // Some settings are read while libtorch is loaded: an exception there ends the process.
  const std::string reason = outcome.exit_code == 2 ? outcome.last_error_line : talk.uncaught();
  // A CUDA error is not about the setting: cudaMallocAsync calls the driver, which may be missing.
  if (reason.empty() || reason.starts_with("CUDA error")) return;
  throw UsageError(variable != nullptr ? variable : "--alloc-conf",
                   variable != nullptr ? getenv(variable) : conf,
                   "is refused by libtorch: " + reason_of(reason) + allowed_keys(options),
                   variable != nullptr ? std::string(variable) + "=expandable_segments:True"
                                       : "--alloc-conf expandable_segments:True");
}

void check_alloc_confs(const std::vector<RunSpec>& specs, const CellOptions& options) {
  for (const RunSpec& spec : specs) check_allocator(spec);
  std::set<std::string> confs;
  for (const RunSpec& spec : specs) confs.insert(spec.alloc_conf);
  for (const std::string& conf : confs) check_alloc_conf(conf, options);
}

}  // namespace headroom
