#include "bench/launch/ranks.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "bench/launch/rank_records.h"
#include "text/quantity.h"
#include "train/parallel/launch_variables.h"

namespace headroom {
namespace {

// A port of this machine that nobody listens at now.
int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  const bool found = descriptor >= 0 && ::bind(descriptor, name, size) == 0 &&
                     ::getsockname(descriptor, name, &size) == 0;
  if (descriptor >= 0) ::close(descriptor);
  if (!found) throw std::runtime_error("no port of this machine is to be had for the ranks' store");
  return ntohs(address.sin_port);
}

CellOptions options_of_rank(const CellOptions& options, int64_t rank, int64_t ranks, int port,
                            const StopSignal& stop) {
  CellOptions own = options_of_launched(options, rank, ranks, port);
  own.stop = &stop;
  if (options.deadline_seconds > 0) {
    // Half of it, so that who waits in vain can still say so.
    const auto patience = static_cast<int64_t>(options.deadline_seconds * 500);
    own.environment.push_back(std::string(kRankPatience) + "=" + std::to_string(patience));
  }
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    const int64_t share = std::thread::hardware_concurrency() / ranks;
    own.environment.push_back("OMP_NUM_THREADS=" + std::to_string(std::max<int64_t>(share, 1)));
  }
  if (rank > 0) own.on_progress = nullptr;  // the first tells for all
  return own;
}

RunSpec spec_of_rank(const RunSpec& spec, int64_t rank) {
  RunSpec own = spec;
  if (rank == 0) return own;
  own.snapshot.clear();  // the first rank's is written
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
  set("MASTER_PORT", port);
  if (options.on_talk) {
    own.on_talk = [=](const std::string& line) {
      options.on_talk("rank " + std::to_string(rank) + ": " + line);
    };
  }
  return own;
}

Record run_ranks(const RunSpec& spec, const CellOptions& options) {
  const int64_t ranks = spec.mesh.ranks();
  const int port = free_port();
  const StopSignal stop;
  std::atomic<int64_t> turn = 0;
  std::vector<RankRecord> ends(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RankRecord& end = ends[static_cast<size_t>(rank)];
      end.rank = rank;
      try {
        end.record =
            run_one(spec_of_rank(spec, rank), options_of_rank(options, rank, ranks, port, stop));
      } catch (const std::exception& error) {
        end.record.spec = spec;
        end.record.reason = error.what();
      }
      end.turn = turn++;
      if (end.record.status == Status::kOk) return;
      // What fails of another rank's silence others fail of too, soon.
      if (end.record.status == Status::kFailed)
        std::this_thread::sleep_for(std::chrono::seconds(2));
      stop.raise();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (RankRecord& end : ends) end.record.spec = spec;
  return record_of_all(std::move(ends));
}

}  // namespace headroom
