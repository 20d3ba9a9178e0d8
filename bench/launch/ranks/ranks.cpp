#include "bench/launch/ranks/ranks.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "bench/launch/ranks/rank_records.h"
#include "bench/launch/ranks/rank_watch.h"
#include "text/quantity.h"
#include "train/parallel/ranks/launch_variables.h"

namespace headroom {
namespace {

// A free port of this machine, held until rank 0's store listens there: the kernel gives a bound
// port to nobody, and with SO_REUSEADDR on both sockets the store may bind it too.
class HeldPort {
 public:
  HeldPort() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    const bool found =
        descriptor_ >= 0 &&
        ::setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        ::bind(descriptor_, name, size) == 0 && ::getsockname(descriptor_, name, &size) == 0;
    number_ = ntohs(address.sin_port);
    if (found) return;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw std::runtime_error("this machine has no free port for the ranks' store");
  }
  ~HeldPort() { ::close(descriptor_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  int number() const { return number_; }

 private:
  int descriptor_;
  int number_ = 0;
};

// Ranks of one machine connect at 127.0.0.1; without a loopback each would retry until its timeout.
void check_loopback(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int failed = ::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  const int error = failed != 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (error == 0 || error == ECONNREFUSED) return;  // reachable, even if no one listens
  throw std::runtime_error(
      "ranks cannot connect to 127.0.0.1: " + std::generic_category().message(error) +
      " (no loopback interface? ip link set lo up)");
}

// A step of a large model takes minutes on a CPU: the silence is only reported.
constexpr auto kSilence = std::chrono::seconds(30);

std::chrono::milliseconds silence() {
  const char* said = std::getenv("HEADROOM_RANK_SILENCE_MS");
  return said == nullptr ? kSilence
                         : std::chrono::milliseconds(
                               parse_integer("HEADROOM_RANK_SILENCE_MS", said, 1, 1 << 30));
}

// If a rank fails because of another's silence, others soon fail for the same reason.
constexpr auto kOthersFailToo = std::chrono::seconds(2);

// Half of the deadline, so that a rank that times out can still report it.
void set_patience(CellOptions& own) {
  if (own.deadline_seconds <= 0) return;
  const auto patience = static_cast<int64_t>(own.deadline_seconds * 500);
  own.environment.push_back(std::string(kRankPatience) + "=" + std::to_string(patience));
}

// Prefixes the rank's output with its number.
void set_voice(CellOptions& own, const CellOptions& options, int64_t rank) {
  if (options.on_talk) {
    own.on_talk = [=](const std::string& line) {
      options.on_talk("rank " + std::to_string(rank) + ": " + line);
    };
  }
}

CellOptions options_of_rank(const CellOptions& options, int64_t rank, int64_t ranks, int port,
                            const StopSignal& stop, RankWatch& watch) {
  CellOptions own = options_of_launched(options, rank, ranks, port);
  own.stop = &stop;
  set_patience(own);
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    const int64_t share = std::thread::hardware_concurrency() / ranks;
    own.environment.push_back("OMP_NUM_THREADS=" + std::to_string(std::max<int64_t>(share, 1)));
  }
  own.on_progress = [&watch, rank,
                     tell = rank == 0 ? options.on_progress : nullptr](const Progress& progress) {
    watch.heard(rank, progress);
    if (tell) tell(progress);  // only the first rank's
  };
  return own;
}

RunSpec spec_of_rank(const RunSpec& spec, int64_t rank) {
  RunSpec own = spec;
  if (rank == 0) return own;
  own.snapshot.clear();  // only the first rank's is written
  return own;
}

}  // namespace

CellOptions options_of_launched(const CellOptions& options, int64_t rank, int64_t ranks, int port) {
  CellOptions own = options;
  const auto set = [&](const char* name, int64_t value) {
    own.environment.push_back(std::string(name) + "=" + std::to_string(value));
  };
  set("RANK", rank);
  set("LOCAL_RANK", rank);
  set("WORLD_SIZE", ranks);
  set("LOCAL_WORLD_SIZE", ranks);
  own.environment.emplace_back("MASTER_ADDR=127.0.0.1");
  own.environment.emplace_back("TORCHELASTIC_USE_AGENT_STORE=False");  // of an outer launcher
  set("MASTER_PORT", port);
  set_voice(own, options, rank);
  return own;
}

std::shared_ptr<ForkServers> forks_of_cells() {
  return std::make_shared<ForkServers>(std::vector<std::string>{
      "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
      "TORCHELASTIC_USE_AGENT_STORE", "HEADROOM_VIRTUAL_ABSENT", kRankAlone, kRankPatience});
}

Record run_ranks(const RunSpec& spec, const CellOptions& given) {
  CellOptions options = given;
  if (!options.forks) options.forks = forks_of_cells();
  const int64_t ranks = spec.mesh.ranks();
  const HeldPort port;
  check_loopback(port.number());
  RankWatch watch(ranks, silence(), options.on_talk);
  const StopSignal stop;
  std::atomic<int64_t> turn = 0;
  std::vector<RankRecord> ends(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RankRecord& end = ends[static_cast<size_t>(rank)];
      end.rank = rank;
      try {
        end.record = run_one(spec_of_rank(spec, rank),
                             options_of_rank(options, rank, ranks, port.number(), stop, watch));
      } catch (const std::exception& error) {
        end.record.spec = spec;
        end.record.reason = error.what();
      }
      end.turn = turn++;
      watch.ended(rank);
      if (end.record.status == Status::kOk) return;
      if (end.record.status == Status::kFailed) std::this_thread::sleep_for(kOthersFailToo);
      stop.raise();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (RankRecord& end : ends) end.record.spec = spec;
  return record_of_all(std::move(ends));
}

bool is_launched_rank() { return first_set(std::array{kLaunchedRank}) == "1"; }

Record run_launched_rank(const RunSpec& spec, const CellOptions& options) {
  const std::string said = first_set(kRankVariables);
  if (said.empty()) {
    throw UsageError(kLaunchedRank, "1", "is set, and no launcher has set the rank of this process",
                     "scripts/launch.sh, or unset " + std::string(kLaunchedRank));
  }
  const int64_t rank = parse_integer("RANK", said, 0, int64_t{1} << 20);
  CellOptions own = options;
  set_patience(own);
  set_voice(own, options, rank);
  if (rank > 0) own.on_progress = nullptr;
  RankRecord end{.rank = rank, .record = run_one(spec_of_rank(spec, rank), own)};
  end.record.spec = spec;
  // Gives other ranks time to report their failures before the launcher ends them with this one.
  if (end.record.status != Status::kOk) std::this_thread::sleep_for(kOthersFailToo);
  std::vector<RankRecord> ends;
  ends.push_back(std::move(end));
  return record_of_all(std::move(ends));
}

}  // namespace headroom
