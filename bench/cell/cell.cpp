#include "bench/cell/cell.h"

#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "bench/cell/request.h"
#include "bench/process/child_process.h"
#include "bench/process/program_folder.h"
#include "bench/process/virtual_card.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using nlohmann::json;

// Mapping libtorch from a cold disk takes a while; a minute and more means it hangs.
constexpr double kIdentityDeadlineSeconds = 120;

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text << seconds << " s";
  return text.str();
}

std::vector<std::string> cell_environment(const RunSpec& spec,
                                          const std::optional<VirtualCard>& card) {
  std::vector<std::string> set;
  if (card) set = stand_in_environment(*card, 1, "");
  return torch_environment(spec.alloc_conf, std::move(set));
}

// What the card is beyond what the cell could ask it, and how far an unlimited run went beyond it.
void describe_virtual_card(const VirtualCard& chosen, Record& record) {
  record.environment["virtual_card"] = {
      {"card", chosen.card.name},
      {"total_bytes", chosen.card.total_bytes},
      {"real_total_bytes", chosen.real_bytes},
      {"context_bytes", chosen.card.context_bytes},
      {"context_known", chosen.card.context_measured ? "measured" : "assumed"},
      // Handles and kernels of cuBLAS and cuDNN: nobody has
      // measured them for this libtorch.
      {"library_bytes", nullptr},
      {"library_known", "unmeasured"}};
  if (!chosen.unlimited || record.status != Status::kOk || !record.peak) return;
  const int64_t needed = record.peak->reserved + chosen.card.context_bytes;
  const int64_t shortfall = needed - chosen.real_bytes;
  record.notes.push_back("needs " + format_bytes(needed) + " with the CUDA context; " +
                         chosen.card.driver_name + " has " + format_bytes(chosen.real_bytes) +
                         ": " +
                         (shortfall > 0 ? "short by " + format_bytes(shortfall)
                                        : format_bytes(-shortfall) + " to spare"));
}

// The cell's lines told apart: how far it is, and its talk.
std::function<void(const std::string&)> without_progress(const CellOptions& options) {
  if (!options.on_progress) return options.on_talk;
  return [&options](const std::string& line) {
    if (const auto progress = progress_of(line)) {
      options.on_progress(*progress);
    } else if (options.on_talk) {
      options.on_talk(line);
    }
  };
}

// The one line that is not blank. Throws std::invalid_argument on none or several.
std::string only_line(const std::string& output) {
  std::istringstream stream(output);
  std::string line;
  std::string found;
  while (std::getline(stream, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (!found.empty()) throw std::invalid_argument("more than one line");
    found = line;
  }
  if (found.empty()) throw std::invalid_argument("nothing");
  return found;
}

// Why the process ended, for one that should not have ended so; "" after exit code 0.
std::string ending(const Outcome& outcome) {
  if (outcome.signal != 0) return "killed by signal " + signal_name(outcome.signal);
  if (outcome.exit_code != 0) return "exit code " + std::to_string(outcome.exit_code);
  return "";
}

// The dynamic loader's own refusal: libtorch is not where it was when the cell was built.
bool lacks_a_library(const Outcome& outcome) {
  constexpr int kLoaderExit = 127;
  return outcome.exit_code == kLoaderExit &&
         outcome.last_error_line.find("error while loading shared libraries") != std::string::npos;
}

std::string missing_library(const std::string& program, const Outcome& outcome) {
  return program + " cannot start: " +
         outcome.last_error_line.substr(outcome.last_error_line.find(": ") + 2) +
         "; libtorch is not where it was when headroom was built: run scripts/setup.sh here and "
         "build again, or move it back";
}

std::string with_last_line(std::string reason, const Outcome& outcome) {
  if (!outcome.last_error_line.empty()) reason += ": " + outcome.last_error_line;
  return reason;
}

// The Record of a cell that wrote none that can be read.
std::pair<Status, std::string> explain(const Outcome& outcome, const CellOptions& options,
                                       bool oom_killer_ran, const std::string& problem) {
  if (outcome.interrupted) return {Status::kKilled, "interrupted"};
  if (outcome.timed_out) {
    return {Status::kTimeout,
            "killed after its deadline of " + seconds_text(options.deadline_seconds)};
  }
  if (outcome.output_too_long) {
    return {Status::kFailed, "wrote more than 64 MiB on stdout and was killed"};
  }
  if (outcome.signal != 0) {
    return {Status::kKilled,
            ending(outcome) + (oom_killer_ran ? "; the kernel's out-of-memory killer ran" : "")};
  }
  if (lacks_a_library(outcome)) {
    return {Status::kUnsupported, missing_library(cell_program(options), outcome)};
  }
  if (outcome.exit_code != 0) return {Status::kFailed, with_last_line(ending(outcome), outcome)};
  return {Status::kFailed,
          with_last_line("exit code 0 but no Record on stdout (" + problem + ")", outcome)};
}

Record read_record(const Outcome& outcome, const RunSpec& spec, const CellOptions& options,
                   bool oom_killer_ran) {
  std::string problem;
  // A Record on stdout is whole or does not parse; how the process ended after it is a note.
  if (!outcome.interrupted && !outcome.output_too_long) {
    try {
      Record record = record_from_json(json::parse(only_line(outcome.output)));
      const std::string end = outcome.timed_out ? "its deadline" : ending(outcome);
      if (!end.empty()) record.notes.push_back("the process ended after its Record by " + end);
      if (!record.environment.is_object()) record.environment = json::object();
      return record;
    } catch (const std::exception& error) {
      problem = error.what();
    }
  }
  Record record;
  record.spec = spec;
  std::tie(record.status, record.reason) = explain(outcome, options, oom_killer_ran, problem);
  return record;
}

// See Note [Names of files in a request].
void name_files_as_typed(const RunSpec& spec, Record& record) {
  for (const Field& field : fields()) {
    if (field.is_file()) field.set(record.spec, field.get(spec));
  }
}

}  // namespace

std::string cell_program(const CellOptions& options) {
  if (!options.program.empty()) return options.program;
  if (const char* program = getenv("HEADROOM_CELL"); program != nullptr && *program != '\0') {
    return program;
  }
  return program_folder() + "/headroom-cell";
}

Record run_cell(const RunSpec& spec, const CellOptions& options) {
  const InheritedStreams streams(spec);
  const std::string program = cell_program(options);
  std::optional<VirtualCard> card;
  if (is_virtual(spec)) card = virtual_card(spec.device);
  const auto kills_before = oom_kills(options.kernel);
  const Outcome outcome =
      run_command({.program = program,
                   .arguments = {},
                   .environment = cell_environment(spec, card),
                   .input = to_json_line(
                       {streams.spec(), options.host_memory_bytes, options.on_progress != nullptr}),
                   .deadline_seconds = options.deadline_seconds,
                   .on_error_line = without_progress(options)});
  if (!outcome.spawn_error.empty()) {
    Record record;
    record.spec = spec;
    record.reason = "cannot run " + program + ": " + outcome.spawn_error;
    return record;
  }
  const auto kills_after = oom_kills(options.kernel);
  const bool oom_killer_ran = kills_before && kills_after && *kills_after > *kills_before;
  Record record = read_record(outcome, spec, options, oom_killer_ran);
  name_files_as_typed(spec, record);
  record.environment["cell"] = {{"pid", outcome.pid},
                                {"seconds", std::round(outcome.seconds * 1e3) / 1e3},
                                {"max_rss_bytes", outcome.max_rss_bytes},
                                {"host_memory_bytes", options.host_memory_bytes}};
  if (card) describe_virtual_card(*card, record);
  return record;
}

json cell_identity(const CellOptions& options) {
  const std::string program = cell_program(options);
  const Outcome outcome = run_command({.program = program,
                                       .arguments = {"--identity"},
                                       .environment = changed_environment({}, {}),
                                       .input = {},
                                       .deadline_seconds = kIdentityDeadlineSeconds,
                                       .on_error_line = options.on_talk});
  const auto refuse = [&](const std::string& problem) {
    throw std::runtime_error("cannot run " + program + ": " + problem);
  };
  if (!outcome.spawn_error.empty()) refuse(outcome.spawn_error);
  if (outcome.interrupted) refuse("interrupted");
  if (outcome.timed_out) {
    refuse("no answer to --identity within " + seconds_text(kIdentityDeadlineSeconds));
  }
  if (lacks_a_library(outcome)) throw std::runtime_error(missing_library(program, outcome));
  if (!ending(outcome).empty()) refuse(with_last_line(ending(outcome), outcome));
  try {
    json identity = json::parse(only_line(outcome.output));
    if (identity.is_object() && identity.contains("build") && identity.contains("libtorch")) {
      return identity;
    }
  } catch (const std::exception&) {
    // The same answer as for JSON of another kind.
  }
  refuse("its answer to --identity is not JSON with build and libtorch");
  return {};
}

}  // namespace headroom
