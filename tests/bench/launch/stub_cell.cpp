// A cell program without libtorch: reads the same request, and acts by spec.seed.
#include "tests/bench/launch/stub_cell.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "bench/launch/request.h"
#include "bench/process/child_process.h"
#include "bench/process/fork_server.h"
#include "files/atomic_file.h"
#include "profiling/record/record.h"

namespace headroom {
namespace {

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "(unset)" : value;
}

bool is_forked = false;

Record ok_record(const CellRequest& request) {
  const RunSpec& spec = request.spec;
  Record record;
  record.spec = spec;
  record.status = Status::kOk;
  const int64_t bytes = (1 << 20) + spec.seed;
  record.peak = MemoryBytes{bytes, bytes, bytes};
  record.environment = {{"pid", getpid()},
                        {"group", getpgrp()},
                        {"is_forked", is_forked},
                        {"host_memory_bytes", request.host_memory_bytes},
                        {"cuda_alloc_conf", variable("PYTORCH_CUDA_ALLOC_CONF")},
                        {"alloc_conf", variable("PYTORCH_ALLOC_CONF")}};
  if (!spec.snapshot.empty()) write_file_atomically(spec.snapshot, "a snapshot");
  return record;
}

void hang() {
  fprintf(stderr, "hanging %d\n", getpid());
  for (;;) pause();
}

void talk_ten_megabytes() {
  const std::string line(1023, 'x');
  for (int i = 0; i < 10 * 1024; ++i) fprintf(stderr, "%s\n", line.c_str());
}

// Imitates the kernel: counts, then kills.
void be_killed_for_memory() {
  std::ofstream(variable("STUB_OOM_CONTROL")) << "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n";
  raise(SIGKILL);
}

// Keeps both pipes open; a parent that reads to their end waits for a minute.
void leave_a_grandchild() {
  if (const pid_t left = fork(); left == 0) {
    sleep(60);
    _exit(0);
  } else {
    fprintf(stderr, "left %d\n", left);
  }
}

void fail_with(Record& record, Status status, const char* reason) {
  record.status = status;
  record.reason = reason;
}

// Returns the text for stdout.
std::string behave(Record record) {
  switch (record.spec.seed) {
    case kStubOom:
      fail_with(record, Status::kOom, "tried to allocate 2.000 GiB");
      record.out_of_memory = std::make_shared<const OutOfMemory>(OutOfMemory{.memory = "device"});
      break;  // keeps its peak, which does not make it a success
    case kStubFailed:
      fail_with(record, Status::kFailed, "CUDA error");
      break;
    case kStubExit:
      fprintf(stderr, "warming up\nterminate: weights are missing\nframe #0: somewhere\n\n");
      exit(7);
    case kStubKilled:
      raise(SIGKILL);
      break;
    case kStubOomKilled:
      be_killed_for_memory();
      break;
    case kStubHang:
      hang();
      break;
    case kStubHalf: {
      const std::string line = to_json_line(record);
      return line.substr(0, line.size() / 2);
    }
    case kStubNoRecord:
      return "{\"hello\": 1}\n";
    case kStubTwoRecords:
      return to_json_line(record) + "\n" + to_json_line(record) + "\n";
    case kStubTalkative:
      talk_ten_megabytes();
      break;
    case kStubLong:
      record.notes.emplace_back(10 << 20, 'n');
      break;
    case kStubFlood:
      return std::string(70 << 20, 'o');
    case kStubGrandchild:
      leave_a_grandchild();
      break;
    case kStubCrashAfter:
      std::cout << to_json_line(record) << "\n" << std::flush;
      raise(SIGABRT);
      break;
    default:
      if (record.spec.seed >= kStubSlow) usleep(20000);
  }
  return to_json_line(record) + "\n";
}

int run(int argc, char** argv) {
  die_with_parent();
  if (argc > 1 && std::string(argv[1]) == "--identity") {
    const char* identity = getenv("STUB_IDENTITY");
    std::cout << (identity != nullptr ? identity : R"({"build": "b1", "libtorch": "2.11.0"})")
              << "\n";
    return 0;
  }
  if (argc > 1 && std::string(argv[1]) == "--forks") {
    is_forked = serve_forks();
    if (!is_forked) return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    const CellRequest request = request_from_json(line);
    std::cout << behave(ok_record(request)) << std::flush;
    if (request.spec.seed == kStubFailed) break;
  }
  return 0;
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) { return headroom::run(argc, argv); }
