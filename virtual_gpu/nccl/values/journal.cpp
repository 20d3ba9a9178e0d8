#include "virtual_gpu/nccl/values/journal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "virtual_gpu/nccl/communicator.h"

namespace virtual_gpu {
namespace {

constexpr auto kPatience = std::chrono::minutes(10);

struct Head {
  int64_t pid;
  std::array<char, 40> card;
};

struct Fixed {
  int32_t kind;
  int32_t other;
  int32_t type;
  int32_t operation;
  uint64_t count;
  uint64_t is_known;
  uint64_t bytes;
};

// Appends all or fails; after a failure the journal ends.
bool append(int file, const void* first, size_t first_bytes, const void* second,
            size_t second_bytes) {
  const std::array<iovec, 2> parts = {iovec{const_cast<void*>(first), first_bytes},
                                      iovec{const_cast<void*>(second), second_bytes}};
  return writev(file, parts.data(), 2) == static_cast<ssize_t>(first_bytes + second_bytes);
}

}  // namespace

Journal::Journal(const std::string& stem, int rank, const std::string& card) {
  const std::string path = JournalReader::path_of(stem, rank);
  file_ = open((path + ".part").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) return;
  Head head{.pid = getpid(), .card = {}};
  std::strncpy(head.card.data(), card.c_str(), head.card.size() - 1);
  const bool is_whole = append(file_, &head, sizeof head, nullptr, 0);
  if (is_whole && std::rename((path + ".part").c_str(), path.c_str()) == 0) return;
  close(file_);
  file_ = -1;
}

Journal::~Journal() {
  if (file_ >= 0) close(file_);
}

void Journal::add(const Entry& entry) {
  if (file_ < 0) return;
  const Fixed fixed{.kind = entry.kind,
                    .other = entry.other,
                    .type = entry.type,
                    .operation = entry.operation,
                    .count = entry.count,
                    .is_known = entry.is_known ? 1U : 0U,
                    .bytes = entry.bytes.size()};
  const std::lock_guard lock(mutex_);
  if (append(file_, &fixed, sizeof fixed, entry.bytes.data(), entry.bytes.size())) return;
  close(file_);
  file_ = -1;
}

std::string JournalReader::path_of(const std::string& stem, int rank) {
  return stem + "." + std::to_string(rank);
}

JournalReader::~JournalReader() {
  if (file_ >= 0) close(file_);
}

void JournalReader::read_on() {
  if (file_ < 0) {
    file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) return;
    Head head;
    if (pread(file_, &head, sizeof head, 0) != sizeof head) return;
    pid_ = head.pid;
    card_ = head.card.data();
    offset_ = sizeof head;
  }
  Fixed fixed;
  while (pread(file_, &fixed, sizeof fixed, static_cast<off_t>(offset_)) == sizeof fixed) {
    Entry entry{.kind = fixed.kind,
                .other = fixed.other,
                .type = fixed.type,
                .operation = fixed.operation,
                .count = fixed.count,
                .is_known = fixed.is_known != 0,
                .bytes = Bytes(fixed.bytes)};
    const auto place = static_cast<off_t>(offset_ + sizeof fixed);
    if (pread(file_, entry.bytes.data(), fixed.bytes, place) != static_cast<ssize_t>(fixed.bytes)) {
      return;  // still being written
    }
    offset_ += sizeof fixed + fixed.bytes;
    if (entry.kind == static_cast<int32_t>(Traffic::kSend)) {
      sent_[entry.other].push_back(std::move(entry));
    } else {
      collectives_.push_back(std::move(entry));
    }
  }
}

// A zombie (ended, but not yet waited for) is not alive.
bool JournalReader::is_alive() const {
  if (pid_ == 0) return true;
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) {
    return kill(static_cast<pid_t>(pid_), 0) == 0 || errno == EPERM;
  }
  return text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

bool JournalReader::wait(const std::function<bool()>& is_there,
                         const std::function<bool()>& gives_up) {
  const auto began = std::chrono::steady_clock::now();
  auto pause = std::chrono::microseconds(20);
  for (;;) {
    // Check this before the last read: an ended rank has written everything.
    const bool is_last = !is_alive() || gives_up();
    {
      const std::lock_guard lock(mutex_);
      read_on();
      if (is_there()) return true;
    }
    if (is_last || std::chrono::steady_clock::now() - began > kPatience) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1000));
  }
}

std::optional<Entry> JournalReader::collective(size_t n, const std::function<bool()>& gives_up) {
  if (!wait([&] { return n < collectives_.size(); }, gives_up)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return collectives_[n];
}

std::optional<Entry> JournalReader::sent(size_t n, int rank,
                                         const std::function<bool()>& gives_up) {
  if (!wait([&] { return n < sent_[rank].size(); }, gives_up)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return sent_[rank][n];
}

std::optional<std::string> JournalReader::card(const std::function<bool()>& gives_up) {
  if (!wait([&] { return file_ >= 0; }, gives_up)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return card_;
}

std::vector<Entry> JournalReader::collectives() {
  const std::lock_guard lock(mutex_);
  read_on();
  return collectives_;
}

}  // namespace virtual_gpu
