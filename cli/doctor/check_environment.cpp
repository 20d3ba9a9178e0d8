#include <cstdlib>

#include "bench/launch/cell.h"
#include "cli/doctor/checks.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using State = Finding::State;

constexpr const char* kEnvironmentArea = "environment";
constexpr const char* kAllocator = "bytes: settings of libtorch's allocator";

struct Variable {
  const char* name;
  const char* effect;
};

constexpr Variable kVariables[] = {
    {"PYTORCH_CUDA_ALLOC_CONF", kAllocator},
    {"PYTORCH_ALLOC_CONF", kAllocator},
    {"PYTORCH_NO_CUDA_MEMORY_CACHING", "bytes and times: memory is not cached"},
    {"CUBLAS_WORKSPACE_CONFIG", "bytes: the workspace of cuBLAS"},
    {"CUBLASLT_WORKSPACE_SIZE", "bytes: the workspace of cuBLASLt"},
    {"CUDA_VISIBLE_DEVICES", "the cards of --device cuda:N, and their numbers"},
    {"CUDA_LAUNCH_BLOCKING", "times: every kernel is waited for"},
    {"CUDA_MODULE_LOADING", "bytes outside the allocator: EAGER loads every kernel"},
    {"CUDA_DEVICE_MAX_CONNECTIONS", "times: the queues of a card"},
    {"NVIDIA_TF32_OVERRIDE", "times and values: TF32 in matrix products"},
    {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "times and values: TF32 in matrix products"},
    {"OMP_NUM_THREADS", "times on the CPU"},
    {"MKL_NUM_THREADS", "times on the CPU"},
    {"LD_PRELOAD", "libraries in every program: another allocator of host memory, for example"},
    {"LD_LIBRARY_PATH", "the libraries that programs load"},
    {"HEADROOM_CARDS", "the data of cards"},
    {"HEADROOM_CELL", "the program that runs cells"},
    {"HEADROOM_TORCH_DIR", "the libtorch of cells"},
    {"HEADROOM_VIRTUAL_GPU", "the libraries of the virtual GPU"},
};

// libtorch may refuse the settings of its allocator: then no step runs.
void check_refusal(Finding& finding) {
  try {
    check_alloc_conf("", CellOptions{});
  } catch (const UsageError& error) {
    finding.state = State::kBroken;
    finding.effect = error.what();
    finding.needed_by_all = true;
  } catch (const std::exception&) {
    // The cell does not start: check_programs() says so.
  }
}

}  // namespace

Findings check_environment() {
  Findings findings;
  for (const Variable& variable : kVariables) {
    const char* const value = std::getenv(variable.name);
    if (value == nullptr) continue;
    Finding finding{.area = kEnvironmentArea,
                    .name = variable.name,
                    .state = State::kNote,
                    .found = value,
                    .effect = variable.effect,
                    .repair = std::string("unset ") + variable.name,
                    .figures = {{"value", value}}};
    if (variable.effect == kAllocator) check_refusal(finding);
    findings.push_back(std::move(finding));
  }
  if (findings.empty()) {
    findings.push_back({.area = kEnvironmentArea,
                        .name = "variables",
                        .found = "none that changes figures is set"});
  }
  return findings;
}

}  // namespace headroom
