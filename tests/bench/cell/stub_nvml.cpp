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

struct PciInfo {
  char legacy_bus_id[16];
  unsigned numbers[5];
  char bus_id[32];
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

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = &card;
  return index == 0 ? 0 : 2;
}

int nvmlDeviceGetPciInfo_v3(void*, PciInfo* info) {
  strncpy(info->bus_id, "00000000:3B:00.0", sizeof info->bus_id);
  return 0;
}

int nvmlDeviceGetName(void*, char* text, unsigned size) {
  strncpy(text, "NVIDIA Stub", size);
  return 0;
}

int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
  total_free_used[0] = 24ULL << 30;
  total_free_used[1] = 23ULL << 30;
  total_free_used[2] = 1ULL << 30;
  return 0;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  const char* given = getenv("STUB_NVML_CUDA");
  *version = given == nullptr ? 13000 : atoi(given);
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
