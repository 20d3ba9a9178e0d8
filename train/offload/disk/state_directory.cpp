#include "train/offload/disk/state_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "files/atomic_file.h"
#include "files/checksum.h"
#include "files/lock.h"
#include "files/mapped_file.h"
#include "files/replace_file.h"
#include "files/whole_file.h"
#include "text/json_line.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kPrefix = "headroom-states.";
constexpr int kSchema = 2;
constexpr int64_t kMostList = int64_t{1} << 30;  // bytes of a list
constexpr const char* kListSum = "list_checksum";
constexpr const char* kFirstWords = "headroom states of step ";

[[noreturn]] void refuse_directory(const std::string& path, const std::string& reason) {
  throw WriteError("cannot write " + path + ": " + reason);
}

[[noreturn]] void refuse_directory(const std::string& path, int error) {
  refuse_directory(path, std::generic_category().message(error));
}

bool exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

// A file's first page, at an address that suits O_DIRECT.
struct alignas(DiskLayout::kPage) FirstPage {
  char text[DiskLayout::kPage] = {};
};

// Moves the whole first page, with pread or pwrite; 0 or an errno. Retries, because a signal may
// cut a call short.
template <typename Call>
int move_page(const Call& call, int file, char* text) {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    const ssize_t moved = call(file, text, sizeof(FirstPage), 0);
    if (moved == ssize_t{sizeof(FirstPage)}) return 0;
    if (moved < 0 && errno != EINTR && errno != EAGAIN) return errno;
  }
  return EIO;
}

// Locks the directory until the descriptor closes, so at most until the process ends.
OwnedFile lock_directory(const std::string& directory, std::vector<std::string>* notes) {
  OwnedFile handle(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.get() < 0) refuse_directory(directory, errno);
  if (const int error = lock_file(handle.get()); error != 0) {
    if (error == EWOULDBLOCK) refuse_directory(directory, "another run keeps its states there");
    if (notes != nullptr) {
      notes->push_back("cannot lock " + directory + " (" + std::generic_category().message(error) +
                       "): a second run can use it at the same time");
    }
  }
  return handle;
}

// Removes temporary lists, which a killed run leaves in the directory.
void remove_temporary_lists(const std::string& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(opendir(directory.c_str()), closedir);
  if (!handle) return;
  std::vector<std::string> found;
  while (const dirent* entry = readdir(handle.get())) {
    const std::string name = entry->d_name;
    if (name.starts_with(kPrefix) && name.ends_with(".tmp")) found.push_back(name);
  }
  for (const std::string& name : found) unlinkat(dirfd(handle.get()), name.c_str(), 0);
}

std::string list_path(const std::string& directory) { return directory + "/" + kPrefix + "json"; }

// For a list with or without its checksum.
std::string checksum_of_list(nlohmann::json list) {
  list.erase(kListSum);
  return checksum_text(checksum(json_line(list)));
}

std::string text_of_sums(const std::vector<uint64_t>& sums) {
  std::string text;
  text.reserve(sums.size() * kChecksumDigits);
  for (const uint64_t sum : sums) text += checksum_text(sum);
  return text;
}

// The list's own checksum was verified, so a mismatch is a bug.
std::vector<uint64_t> sums_from_text(const std::string& text, size_t count) {
  std::vector<uint64_t> sums;
  for (size_t at = 0; at + kChecksumDigits <= text.size(); at += kChecksumDigits) {
    const auto sum = checksum_from_text(std::string_view(text).substr(at, kChecksumDigits));
    sums.push_back(sum.value());
  }
  if (sums.size() != count) throw std::logic_error("a list of other blocks");
  return sums;
}

// The file that the list keeps: "a", "b", or "" = none. An unreadable list keeps nothing.
std::string kept_file(const std::string& directory) {
  try {
    const nlohmann::json list = nlohmann::json::parse(
        read_whole_file(list_path(directory), kMostList), nullptr, /*exceptions=*/false);
    return list.at("keep").get<bool>() ? list.at("whole").get<std::string>() : "";
  } catch (const std::exception&) {
    return "";
  }
}

std::string hint_for(const std::string& directory) {
  return "; another directory, or remove " + directory + "/" + kPrefix + "*";
}

[[noreturn]] void refuse_list(const std::string& directory, const std::string& why) {
  throw ReadError(list_path(directory), why + hint_for(directory));
}

// The list of a directory, verified by its own checksum.
nlohmann::json whole_list(const std::string& directory) {
  const nlohmann::json list = nlohmann::json::parse(
      read_whole_file(list_path(directory), kMostList), nullptr, /*exceptions=*/false);
  try {
    if (list.at("schema_version") != kSchema) refuse_list(directory, "it has another format");
    if (list.at(kListSum) != checksum_of_list(list)) {
      refuse_list(directory, "it is damaged: its checksum is of another list");
    }
  } catch (const nlohmann::json::exception&) {
    refuse_list(directory, "no list of states");
  }
  return list;
}

[[noreturn]] void refuse_another_run(const std::string& directory, const nlohmann::json& list,
                                     const std::string& identity) {
  throw UsageError("--optimizer-offload", "nvme:" + directory,
                   "contains the states of another run (" + list.at("identity").get<std::string>() +
                       ", step " + list.at("step").dump() + "), and this one is " + identity +
                       "; allowed: a directory without states; or remove " + directory + "/" +
                       kPrefix + "*",
                   "--optimizer-offload nvme:" + directory + "-2");
}

}  // namespace

void StateDirectory::check(const std::string& directory,
                           const std::vector<std::string>& identities) {
  const OwnedFile lock = lock_directory(directory, nullptr);
  check_writable(list_path(directory));
  if (identities.empty() || !exists(list_path(directory))) return;
  const nlohmann::json list = whole_list(directory);
  try {
    if (is_one_of(list.at("identity").get<std::string>(), identities)) return;
    refuse_another_run(directory, list, identities.front());
  } catch (const nlohmann::json::exception&) {
    refuse_list(directory, "no list of states");
  }
}

void StateDirectory::remove(const std::string& directory) {
  const OwnedFile lock = lock_directory(directory, nullptr);
  remove_temporary_lists(directory);
  std::string kept;
  if (exists(list_path(directory))) kept = kept_file(directory);
  for (const char* name : {"json", "a", "b"}) {
    if (!kept.empty() && (kept == name || name == std::string("json"))) continue;
    unlink((directory + "/" + kPrefix + name).c_str());
  }
}

StateDirectory::StateDirectory(const std::string& directory, const std::string& identity,
                               const DiskLayout& layout, bool keep)
    : directory_(directory),
      list_(list_path(directory)),
      identity_(identity),
      layout_(layout),
      layout_hash_(layout.hash()),
      file_bytes_(layout.file_bytes()),
      keep_(keep) {
  lock_ = lock_directory(directory_, &notes_);
  files_[0].path = directory_ + "/" + kPrefix + "a";
  files_[1].path = directory_ + "/" + kPrefix + "b";
  for (File& file : files_) file.sums.resize(layout.blocks().size());
  remove_temporary_lists(directory_);
  const bool goes_on = exists(list_);
  if (goes_on) go_on_from_list();
  remove_torn();
  try {
    make(files_[1 - whole_]);
    if (!goes_on) make(files_[whole_]);
  } catch (...) {
    unlink(next().path.c_str());
    if (!goes_on) unlink(whole().path.c_str());
    throw;
  }
}

StateDirectory::~StateDirectory() {
  // The list is removed before the whole file: half-removed states never look whole.
  if (!keep_ || step_ < 0) {
    unlink(list_.c_str());
    unlink(whole().path.c_str());
  }
  unlink(next().path.c_str());
}

void StateDirectory::go_on_from_list() {
  const nlohmann::json list = whole_list(directory_);
  try {
    step_ = list.at("step");
    if (list.at("identity") != identity_ || list.at("layout") != checksum_text(layout_hash_)) {
      refuse_another_run(directory_, list, identity_);
    }
    whole_ = list.at("whole") == "a" ? 0 : 1;
    files_[whole_].sums = sums_from_text(list.at("checksums"), layout_.blocks().size());
    if (list.at("keep") && !keep_) {
      keep_ = true;
      notes_.push_back("the states in " + directory_ + " are kept, as an earlier run asked");
    }
  } catch (const nlohmann::json::exception&) {
    refuse_list(directory_, "no list of states");
  }
  open_whole();
}

void StateDirectory::open_whole() {
  File& file = files_[whole_];
  file.descriptor = open_file(file.path, O_RDWR);
  if (file.descriptor.get() < 0) throw ReadError(file.path, std::generic_category().message(errno));
  struct stat status {};
  if (fstat(file.descriptor.get(), &status) != 0 || status.st_size < file_bytes_ ||
      step_in(file) != step_) {
    throw ReadError(file.path, "it differs from " + list_ + ": damaged; remove both");
  }
  notes_.push_back("resuming from step " + std::to_string(step_) + ", with the states in " +
                   directory_);
}

// Removes the file that is not whole, and both if there is no list.
void StateDirectory::remove_torn() {
  const bool fresh = step_ < 0;
  File& other = files_[1 - whole_];
  if (fresh && (exists(files_[0].path) || exists(files_[1].path))) {
    notes_.push_back("removed from " + directory_ +
                     " the files of a run that ended before its first states were complete");
  } else if (!fresh && exists(other.path)) {
    other.descriptor = open_file(other.path, O_RDONLY);
    const int64_t torn = step_in(other);
    if (torn > step_) {
      notes_.push_back("step " + std::to_string(torn) +
                       " was interrupted: its states were incomplete in " + other.path);
    }
    other.descriptor.close();
  }
  unlink(other.path.c_str());
  if (fresh) unlink(files_[whole_].path.c_str());
}

// The step in the first page; -1 if there is none.
int64_t StateDirectory::step_in(const File& file) const {
  const auto page = std::make_unique<FirstPage>();
  if (move_page(pread, file.descriptor.get(), page->text) != 0) return -1;
  page->text[sizeof page->text - 1] = '\0';
  long long step = -1;
  char layout[17] = {};
  const std::string form = std::string(kFirstWords) + "%lld, layout %16[0-9a-f]";
  if (sscanf(page->text, form.c_str(), &step, layout) != 2) return -1;
  return checksum_text(layout_hash_) == layout ? step : -1;
}

OwnedFile StateDirectory::open_file(const std::string& path, int flags) {
  return open_direct(path, flags, directory_, notes_);
}

void StateDirectory::make(File& file) {
  file.descriptor = open_file(file.path, O_RDWR | O_CREAT | O_EXCL);
  if (file.descriptor.get() < 0) refuse_directory(file.path, errno);
  reserve(file);
}

void StateDirectory::reserve(const File& file) {
  if (const int error = reserve_room(file.descriptor, file_bytes_, directory_, notes_)) {
    refuse_directory(file.path, std::generic_category().message(error) +
                                    "; the states take two files of " + format_bytes(file_bytes_));
  }
}

void StateDirectory::begin(int64_t step) {
  const auto page = std::make_unique<FirstPage>();
  snprintf(page->text, sizeof page->text, "%s%lld, layout %s\n", kFirstWords,
           static_cast<long long>(step), checksum_text(layout_hash_).c_str());
  if (const int error = move_page(pwrite, next().descriptor.get(), page->text)) {
    refuse_directory(next().path, error);
  }
}

void StateDirectory::commit(int64_t step) {
  if (fdatasync(next().descriptor.get()) != 0) refuse_directory(next().path, errno);
  write_list(step, 1 - whole_);
  whole_ = 1 - whole_;
  step_ = step;
}

void StateDirectory::note_written(size_t block, const std::byte* memory) {
  files_[1 - whole_].sums[block] = checksum(memory, layout_.blocks()[block].bytes);
}

void StateDirectory::check_read(size_t block, const std::byte* memory) const {
  const StateBlock& one = layout_.blocks()[block];
  if (checksum(memory, one.bytes) == whole().sums[block]) return;
  const auto blocks = static_cast<int64_t>(layout_.blocks().size());
  throw ReadError(whole().path,
                  block_in_words(static_cast<int64_t>(block), blocks, one.offset, one.bytes) +
                      " is damaged: its checksum is not that of the list; remove " + directory_ +
                      "/" + kPrefix + "*, or restore a copy of it");
}

void StateDirectory::write_list(int64_t step, size_t whole) const {
  nlohmann::json list = {{"schema_version", kSchema},
                         {"identity", identity_},
                         {"layout", checksum_text(layout_hash_)},
                         {"whole", whole == 0 ? "a" : "b"},
                         {"step", step},
                         {"keep", keep_},
                         {"checksums", text_of_sums(files_[whole].sums)}};
  list[kListSum] = checksum_of_list(list);
  write_file_atomically(list_, json_line(list) + "\n");
}

}  // namespace headroom
