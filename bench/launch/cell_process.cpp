#include "bench/launch/cell_process.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <utility>

#include "bench/launch/request.h"
#include "bench/process/child_process.h"
#include "bench/process/program_folder.h"
#include "bench/process/torch_folder.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using nlohmann::json;

// One card per rank, at most the eight of a host.
int cards_of(const RunSpec& spec) {
  constexpr int64_t kOfAHost = 8;
  return static_cast<int>(std::min(spec.mesh.ranks(), kOfAHost));
}

std::vector<std::string> stand_in_environment_of(const RunSpec& spec,
                                                 const std::optional<VirtualCard>& card) {
  return card ? cell_stand_in_environment(*card, cards_of(spec)) : std::vector<std::string>{};
}

std::vector<std::string> cell_environment(const RunSpec& spec,
                                          const std::optional<VirtualCard>& card,
                                          std::vector<std::string> set) {
  for (std::string& variable : stand_in_environment_of(spec, card))
    set.push_back(std::move(variable));
  // Our own steps do not branch on values that they read
  // (tests/virtual_gpu/steps/contract_test.py), so the stand-in does not report these reads.
  if (card) set.emplace_back("HEADROOM_VIRTUAL_READS=expected");
  // Without a folder for compiled kernels libtorch would warn in every run.
  if (std::getenv("HOME") == nullptr && std::getenv("PYTORCH_KERNEL_CACHE_PATH") == nullptr) {
    set.emplace_back("USE_PYTORCH_KERNEL_CACHE=0");
  }
  return torch_environment(spec.alloc_conf, with_torch(std::move(set)));
}

// Adds the card's facts that the cell cannot query, and an unlimited run's excess over the card.
void describe_virtual_card(const VirtualCard& chosen, Record& record) {
  record.environment["virtual_card"] = {
      {"card", chosen.card.name},
      {"total_bytes", chosen.card.total_bytes},
      {"real_total_bytes", chosen.real_bytes},
      {"context_bytes", chosen.card.context_bytes},
      {"context_known", chosen.card.context_measured ? "measured" : "assumed"},
      // Handles and kernels of cuBLAS and cuDNN: not
      // measured for this libtorch.
      {"library_bytes", nullptr},
      {"library_known", "unmeasured"}};
  if (!chosen.unlimited || record.status != Status::kOk || !record.peak) return;
  const int64_t nccl = record.ranks.empty() ? 0 : record.ranks.front().nccl_bytes;
  const int64_t needed = record.peak->reserved + chosen.card.context_bytes + nccl;
  const int64_t shortfall = needed - chosen.real_bytes;
  record.notes.push_back("needs " + format_bytes(needed) + " with the CUDA context" +
                         (nccl > 0 ? " and NCCL's buffers, assumed" : "") + "; " +
                         chosen.card.driver_name + " has " + format_bytes(chosen.real_bytes) +
                         ": " +
                         (shortfall > 0 ? "short by " + format_bytes(shortfall)
                                        : format_bytes(-shortfall) + " to spare"));
}

// The status and reason of a cell that wrote no readable Record.
std::pair<Status, std::string> explain(const Outcome& outcome, const StderrRelay& talk,
                                       const CellOptions& options, bool oom_killer_ran,
                                       const std::string& problem) {
  if (outcome.interrupted) return {Status::kKilled, "interrupted"};
  if (outcome.stopped) return {Status::kKilled, kStoppedForAnother};
  if (outcome.timed_out) {
    return {Status::kTimeout,
            "killed after its deadline of " + seconds_text(options.deadline_seconds)};
  }
  if (outcome.output_too_long) {
    return {Status::kFailed, "wrote more than 64 MiB on stdout and was killed"};
  }
  const std::string end = ending(outcome, talk);
  if (outcome.signal != 0) {
    return {Status::kKilled,
            end + (oom_killer_ran ? "; the kernel's out-of-memory killer ran" : "")};
  }
  if (lacks_a_library(outcome)) {
    return {Status::kUnsupported, missing_library(cell_program(options), outcome)};
  }
  if (outcome.exit_code != 0) return {Status::kFailed, with_last_line(end, outcome)};
  return {Status::kFailed,
          with_last_line("exit code 0 but no Record on stdout (" + problem + ")", outcome)};
}

// Cells on a real card, and cells whose CPU times count, are exec'd. So is a program that replaces
// ours: it may treat each cell differently.
bool may_be_forked(const RunSpec& spec, const std::string& program) {
  if (program != program_folder() + "/headroom-cell") return false;
  const bool is_rank = spec.mesh.ranks() > 1;
  return is_virtual(spec) || (is_rank && spec.device.kind == DeviceKind::kCpu);
}

}  // namespace

int64_t host_memory_of(const RunSpec& spec, const CellOptions& options) {
  return is_virtual(spec) ? options.virtual_host_memory_bytes : options.host_memory_bytes;
}

CellProcess::CellProcess(const RunSpec& first, const CellOptions& options)
    : options_(options), program_(cell_program(options)), talk_(options.on_talk) {
  if (is_virtual(first)) card_ = virtual_card(first.device);
  // Unlimited = the address space of a process, shared by all its cards.
  if (card_ && card_->unlimited) card_->card.total_bytes /= cards_of(first);
  environment_ = cell_environment(first, card_, options.environment);
}

void CellProcess::run(const std::vector<RunSpec>& specs,
                      const std::function<void(const std::string& line)>& on_output_line) {
  std::deque<InheritedStreams> streams;
  std::string input;
  for (const RunSpec& spec : specs) {
    input += request_for(streams.emplace_back(spec).spec());
  }
  // A server may have begun before the copies, and does not pass them on.
  const bool inherits =
      std::any_of(streams.begin(), streams.end(), [](const auto& one) { return one.has_copies(); });
  const bool forks = !inherits && may_be_forked(specs.front(), program_);
  const auto kills_before = oom_kills(options_.kernel);
  outcome_ = run_command({.program = program_,
                          .arguments = {},
                          .environment = environment_,
                          .input = std::move(input),
                          .forks = forks ? options_.forks.get() : nullptr,
                          .deadline_seconds = options_.deadline_seconds,
                          .stop = options_.stop,
                          .on_output_line = on_output_line,
                          .on_error_line = [this](const std::string& line) { hear(line); }});
  const auto kills_after = oom_kills(options_.kernel);
  oom_killer_ran_ = kills_before && kills_after && *kills_after > *kills_before;
}

std::optional<std::string> CellProcess::run_by(CellWorker& worker, const RunSpec& spec) {
  const auto kills_before = oom_kills(options_.kernel);
  std::optional<std::string> answer = worker.ask(request_for(spec), options_.deadline_seconds,
                                                 [this](const std::string& line) { hear(line); });
  if (answer) return answer;
  outcome_ = worker.outcome();
  const auto kills_after = oom_kills(options_.kernel);
  oom_killer_ran_ = kills_before && kills_after && *kills_after > *kills_before;
  return std::nullopt;
}

std::string CellProcess::request_for(const RunSpec& spec) const {
  return to_json_line({.spec = spec,
                       .host_memory_bytes = host_memory_of(spec, options_),
                       .watches = options_.watches,
                       .tells_progress = options_.on_progress != nullptr,
                       .ppo = options_.ppo});
}

// Separates progress lines from other output.
void CellProcess::hear(const std::string& line) {
  if (options_.on_progress) {
    if (const auto progress = progress_of(line)) return options_.on_progress(*progress);
  }
  talk_.hear(line);
}

std::string CellProcess::end() const {
  return outcome_.timed_out ? "its deadline" : ending(outcome_, talk_);
}

Record CellProcess::explained(const RunSpec& spec, const std::string& problem) const {
  Record record;
  record.spec = spec;
  if (!outcome_.spawn_error.empty()) {
    record.reason = "cannot run " + program_ + ": " + outcome_.spawn_error;
    return record;
  }
  std::tie(record.status, record.reason) =
      explain(outcome_, talk_, options_, oom_killer_ran_, problem);
  return record;
}

void CellProcess::complete(Record& record, double seconds, bool one_process,
                           size_t cells_before) const {
  if (!record.environment.is_object()) record.environment = json::object();
  record.environment["cell"].update({{"seconds", std::round(seconds * 1e3) / 1e3},
                                     {"host_memory_bytes", host_memory_of(record.spec, options_)},
                                     {"one_process", one_process},
                                     {"cells_before", cells_before}});
  if (card_) describe_virtual_card(*card_, record);
}

}  // namespace headroom
