#include "train/resume/checkpoint_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>

#include "files/directory.h"
#include "files/lock.h"
#include "files/replace_file.h"
#include "files/same_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kStep = "step-";
constexpr const char* kUnfinished = ".tmp";
constexpr const char* kDamaged = ".damaged";
constexpr size_t kKept = 2;

[[noreturn]] void refuse_directory(const std::string& path, const std::string& reason) {
  throw WriteError("cannot write " + path + ": " + reason);
}

[[noreturn]] void refuse_directory(const std::string& path, int error) {
  refuse_directory(path, std::generic_category().message(error));
}

std::string path_of(const std::string& directory, int64_t step) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%08lld", static_cast<long long>(step));
  return directory + "/" + kStep + digits.data();
}

// From the name of a whole checkpoint.
std::optional<int64_t> step_of(const std::string& name) {
  constexpr size_t kMostDigits = 18;
  const std::string prefix = kStep;
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string digits = name.substr(prefix.size());
  const bool is_number = digits.find_first_not_of("0123456789") == std::string::npos;
  if (digits.empty() || digits.size() > kMostDigits || !is_number) return std::nullopt;
  return std::stoll(digits);
}

bool is_readable(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

// Renames a damaged checkpoint that a load skipped: the run reaches its step again.
void put_aside_damaged(const std::string& checkpoint) {
  if (!is_directory(checkpoint) || is_readable(index_of_checkpoint(checkpoint))) return;
  remove_directory(checkpoint + kDamaged);
  rename(checkpoint.c_str(), (checkpoint + kDamaged).c_str());
}

void remove_unfinished(const std::string& directory) {
  for (const std::string& name : names_in(directory)) {
    if (name.starts_with(kStep) && name.ends_with(kUnfinished)) {
      remove_directory(in_directory(directory, name));
    }
  }
}

}  // namespace

std::string index_of_checkpoint(const std::string& checkpoint) {
  return checkpoint + "/checkpoint.safetensors.index.json";
}

std::string unfinished_checkpoint(const std::string& directory, int64_t step) {
  return path_of(directory, step) + kUnfinished;
}

std::vector<int64_t> steps_of_checkpoints(const std::string& directory) {
  std::vector<int64_t> steps;
  for (const std::string& name : names_in(directory)) {
    const auto step = step_of(name);
    if (step && is_readable(index_of_checkpoint(in_directory(directory, name))))
      steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::string checkpoint_of_step(const std::string& directory, int64_t step) {
  return path_of(directory, step);
}

std::optional<int64_t> step_of_checkpoint(const std::string& checkpoint) {
  const size_t end = checkpoint.find_last_not_of('/') + 1;
  const size_t slash = checkpoint.rfind('/', end == 0 ? 0 : end - 1);
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  return step_of(checkpoint.substr(begin, end - begin));
}

std::string newest_checkpoint(const std::string& directory, std::vector<std::string>* passed_over) {
  if (is_readable(index_of_checkpoint(directory))) return directory;
  const std::vector<int64_t> steps = steps_of_checkpoints(directory);
  if (steps.empty()) {
    throw UsageError(
        "--load-checkpoint", directory,
        is_directory(directory)
            ? "contains no complete checkpoint; allowed: a directory that --save-checkpoint wrote"
            : "is no directory; allowed: a directory that --save-checkpoint wrote",
        "--load-checkpoint checkpoints");
  }
  for (const std::string& name : names_in(directory)) {
    const auto step = step_of(name);
    if (passed_over != nullptr && step && *step > steps.back()) {
      passed_over->push_back("skipped the newer checkpoint " + in_directory(directory, name) +
                             ": its index is missing or cannot be read");
    }
  }
  return path_of(directory, steps.back());
}

CheckpointDirectory::CheckpointDirectory(const std::string& directory,
                                         const std::string& goes_on_from)
    : directory_(directory) {
  make_directories(directory_);
  if (access(directory_.c_str(), W_OK | X_OK) != 0) refuse_directory(directory_, errno);
  lock_ = OwnedFile(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock_.get() < 0) refuse_directory(directory_, errno);
  if (lock_file(lock_.get()) == EWOULDBLOCK) {
    refuse_directory(directory_, "another run saves its checkpoints there");
  }
  const bool is_own =
      !goes_on_from.empty() && file_identity(goes_on_from) == file_identity(directory_);
  const std::vector<int64_t> steps = steps_of_checkpoints(directory_);
  if (is_own || steps.empty()) return;
  throw UsageError("--save-checkpoint", directory_,
                   "contains the checkpoint of step " + std::to_string(steps.back()) +
                       " of another run; allowed: another directory, or --load-checkpoint with "
                       "this one, to resume",
                   "--load-checkpoint " + directory_ + " --save-checkpoint " + directory_);
}

void CheckpointDirectory::begin(int64_t step) {
  remove_unfinished(directory_);
  make_directories(unfinished_checkpoint(directory_, step));
}

void CheckpointDirectory::finish(int64_t step) {
  const std::string unfinished = unfinished_checkpoint(directory_, step);
  const std::string whole = path_of(directory_, step);
  sync_directory_of(unfinished + "/");
  put_aside_damaged(whole);
  if (rename(unfinished.c_str(), whole.c_str()) != 0) refuse_directory(whole, errno);
  sync_directory_of(whole);
  std::vector<int64_t> steps = steps_of_checkpoints(directory_);
  steps.resize(steps.size() - std::min(kKept, steps.size()));
  for (const int64_t old : steps) {
    const std::string removed = unfinished_checkpoint(directory_, old);
    if (rename(path_of(directory_, old).c_str(), removed.c_str()) == 0) remove_directory(removed);
  }
}

void CheckpointDirectory::abandon(int64_t step) {
  remove_directory(unfinished_checkpoint(directory_, step));
}

}  // namespace headroom
