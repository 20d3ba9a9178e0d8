// A stub of libnvidia-ml: one card whose figures change with each query. The environment sets its
// answers, so that a test can simulate any driver: STUB_NVML_PIDS="self,4711". A query creates the
// file STUB_NVML_ASKED.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {

int clock_asked = 0;
int card = 0;

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (const char* trace = getenv("STUB_NVML_ASKED")) {
    if (FILE* file = fopen(trace, "w")) fclose(file);
  }
  return getenv("STUB_NVML_BROKEN") != nullptr ? 9 : 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  if (strcmp(bus, "00000000:3B:00.0") != 0) return 6;
  *handle = &card;
  return 0;
}

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  strncpy(text, "580.65.06", size);
  return 0;
}

int nvmlDeviceGetClockInfo(void* handle, int type, unsigned* mhz) {
  if (handle != &card) return 2;
  *mhz = type == 1 ? 1980 - 30 * static_cast<unsigned>(clock_asked++) : 2619;
  return 0;
}

int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1980;
  return 0;
}

int nvmlDeviceGetPowerUsage(void*, unsigned*) { return 3; }  // not supported

int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = clock_asked < 2 ? 0x1 : 0x44;
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* processes) {
  const char* pids = getenv("STUB_NVML_PIDS");
  std::istringstream words(pids == nullptr ? "self" : pids);
  unsigned found = 0;
  for (std::string word; std::getline(words, word, ','); ++found) {
    if (found >= *count) continue;
    processes[found] = {};
    processes[found].pid =
        word == "self" ? static_cast<unsigned>(getpid()) : static_cast<unsigned>(std::stoul(word));
    processes[found].used_bytes = found == 2 ? ~0ULL : 2ULL << 30;
  }
  const bool enough = found <= *count;
  *count = found;
  return enough ? 0 : 7;
}
}
