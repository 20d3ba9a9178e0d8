#include "bench/launch/preparation/compiled_regions.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "bench/launch/ending.h"
#include "bench/process/child_process.h"
#include "bench/process/interrupt.h"
#include "bench/process/program_folder.h"
#include "bench/process/torch_folder.h"
#include "files/atomic_file.h"
#include "files/checksum.h"
#include "files/directory.h"
#include "files/lock.h"
#include "train/kernels/operations/operation_settings.h"
#include "train/kernels/region_settings.h"

namespace headroom {
namespace {

using nlohmann::json;

bool is_region(const json& settings) { return settings.contains("region"); }

std::vector<const char*> files_of(const json& settings) {
  if (!is_region(settings)) return {"operation.so"};
  return {"forward.so", "backward.so", "region.json"};
}

constexpr const char* kList = "files.json";  // the settings, and a checksum of each of these

std::optional<std::string> sum_of(const std::string& folder, const char* name) {
  std::ifstream file(in_directory(folder, name), std::ios::binary);
  if (!file) return std::nullopt;
  return checksum_text(checksum(std::string(std::istreambuf_iterator<char>(file), {})));
}

json list_of(const json& settings, const std::string& folder) {
  json list = {{"settings", settings}};
  for (const char* const name : files_of(settings)) {
    const std::optional<std::string> sum = sum_of(folder, name);
    if (!sum)
      throw std::runtime_error("the compiler of --kernels compiled wrote no " + std::string(name));
    list["files"][name] = *sum;
  }
  return list;
}

bool is_complete(const json& settings, const std::string& folder) {
  std::ifstream file(in_directory(folder, kList));
  if (!file) return false;
  const json list = json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!list.is_object() || list.value("settings", json()) != settings) return false;
  for (const char* const name : files_of(settings)) {
    const std::optional<std::string> sum = sum_of(folder, name);
    if (!sum || list.value("files", json::object()).value(name, "") != *sum) return false;
  }
  return true;
}

// Waits as long as another process compiles, or until this one is interrupted. Held until
// destroyed; the file stays.
class RegionLock {
 public:
  explicit RegionLock(const std::string& path)
      : descriptor_(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
    while (lock_file(descriptor_) == EWOULDBLOCK && !interrupted()) {
    }
  }
  ~RegionLock() { close(descriptor_); }
  RegionLock(const RegionLock&) = delete;
  RegionLock& operator=(const RegionLock&) = delete;

 private:
  int descriptor_;
};

Command compiler(const json& settings, const std::string& folder) {
  const std::string programs = program_folder();
  const std::string script = folder_above(programs) + "/lib/compiled/" +
                             (is_region(settings) ? "compile.py" : "compile_operation.py");
  Command command{.program = torch_python(), .arguments = {script, folder}};
  command.input = settings.dump();
  if (settings.at("device") == "cuda" && settings.at("card") != kOwnCard) {
    command.arguments.insert(command.arguments.begin(), command.program);
    // Unlimited: torch's tuning holds arguments of several kernels, and the step may need fewer
    // bytes.
    const std::vector<std::string> dryrun = {"dryrun",  "--card",    settings.at("card"),
                                             "--bytes", "unlimited", "--"};
    command.arguments.insert(command.arguments.begin(), dryrun.begin(), dryrun.end());
    command.program = programs + "/headroom";
  }
  command.environment = changed_environment({}, {});
  return command;
}

void compile(const json& settings, const std::string& folder) {
  Command command = compiler(settings, folder);
  std::string reason;  // Python's last word; a dry run's report follows it
  bool is_disk_full = false;
  command.on_error_line = [&](const std::string& line) {
    if (is_disk_full) return;
    is_disk_full = line.find(std::strerror(ENOSPC)) != std::string::npos;
    if (is_disk_full || line.find("Error: ") != std::string::npos) reason = line;
  };
  const Outcome outcome = run_command(command);
  if (outcome.interrupted) return;
  if (!outcome.spawn_error.empty()) {
    throw std::runtime_error("--kernels compiled needs the Python of ./scripts/setup.sh, and " +
                             command.program + " does not start (" + outcome.spawn_error +
                             "): run ./scripts/setup.sh, or set HEADROOM_PYTHON");
  }
  if (outcome.exit_code != 0) {
    throw std::runtime_error("--kernels compiled: the compiler failed: " +
                             (reason.empty() ? with_last_line(ending(outcome), outcome) : reason));
  }
}

void compile_once(const json& settings, const CellOptions& options) {
  const std::string folder = region_folder(settings);
  if (is_complete(settings, folder)) return;
  make_directories(folder_above(folder));
  const RegionLock lock(folder + ".lock");
  if (interrupted() || is_complete(settings, folder)) return;  // the lock's last holder compiled it
  if (options.on_talk) {
    options.on_talk("compiling " + name_of_compiled(settings) +
                    (is_region(settings) ? " for this shape" : "") + ", once (20 to 80 s)");
  }
  const std::string unfinished = folder + ".unfinished";
  make_directories(unfinished);
  compile(settings, unfinished);
  if (interrupted()) return;
  write_file_atomically(in_directory(unfinished, kList),
                        list_of(settings, unfinished).dump(1) + "\n");
  remove_directory(folder);
  if (std::rename(unfinished.c_str(), folder.c_str()) != 0) {
    throw std::runtime_error(folder + ": " + std::strerror(errno));
  }
}

}  // namespace

void compile_libraries(const std::vector<json>& settings, const CellOptions& options) {
  for (const json& one : settings) {
    if (!interrupted()) compile_once(one, options);
  }
}

void compile_regions(const std::vector<RunSpec>& specs, const CellOptions& options) {
  std::vector<json> all;
  const auto add = [&](const std::vector<json>& more) {
    for (const json& one : more) {
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
    }
  };
  for (const RunSpec& spec : specs) {
    if (spec.kernels != Kernels::kCompiled) continue;
    add(region_settings(spec));
    add(operation_settings(spec));
  }
  compile_libraries(all, options);
}

}  // namespace headroom
