// Note [Result keys]
// Rationale: a resumed sweep may return an old row only if the cell would give the same one again;
//   otherwise it silently mixes experiments.
// Approach: one hash over everything known to affect the result: the settings marked
//   changes_result, the identity of the cell program (build, libtorch, devices, processor), and
//   the conditions: the environment variables that libtorch and CUDA read, size and modification
//   time of input files (tokens, weights), the figures of a virtual card as given to the stand-in,
//   and for a cell in a shared process the key of the previous cell, which in turn covers the cells
//   before it. A different key is simply not found, and tables compare the same conditions
//   (profiling/report/rows/select.cpp).
//   The processor affects times, also on a real card, which waits for its launches; a Record of a
//   virtual card holds no times, and its bytes are the same on every machine.
// Limits: the 64-bit hash is for lookup, not for proof. Settings with equal effect (d_model 0 and
//   the named size's own width) have different keys: rerun, never mixed.
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "bench/process/virtual_card.h"
#include "bench/sweep/sweep.h"
#include "text/json_line.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 9> kVariables = {"CUBLAS_WORKSPACE_CONFIG",
                                                   "CUDA_VISIBLE_DEVICES",
                                                   "MKL_NUM_THREADS",
                                                   "NVIDIA_TF32_OVERRIDE",
                                                   "OMP_NUM_THREADS",
                                                   "PYTORCH_ALLOC_CONF",
                                                   "PYTORCH_CUDA_ALLOC_CONF",
                                                   "PYTORCH_NO_CUDA_MEMORY_CACHING",
                                                   "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"};

// FNV-1a, 64 bits.
uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

json file_stamp(const std::string& path) {
  struct stat status {};
  if (path.empty() || stat(path.c_str(), &status) != 0) return nullptr;
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

}  // namespace

json result_conditions(const RunSpec& spec, const Before& before) {
  json conditions = json::object();
  for (const char* name : kVariables) {
    // The run's own alloc_conf replaces both variables.
    if (!spec.alloc_conf.empty() && std::string(name).ends_with("ALLOC_CONF")) continue;
    // Virtual cards have their own numbers.
    if (is_virtual(spec) && std::string(name) == "CUDA_VISIBLE_DEVICES") continue;
    if (const char* value = getenv(name); value != nullptr) conditions["variables"][name] = value;
  }
  if (!spec.tokens.empty()) conditions["files"]["tokens"] = file_stamp(spec.tokens);
  if (!spec.load_weights.empty()) conditions["files"]["weights"] = file_stamp(spec.load_weights);
  if (is_virtual(spec)) {
    conditions["card"] = stand_in_description(virtual_card(spec.device).card);
  }
  if (before.cells > 0) {
    conditions["cells_before"] = before.cells;
    conditions["key_before"] = before.key;
  }
  return conditions;
}

std::string result_key(const RunSpec& spec, const json& identity, const json& conditions) {
  json all = {{"conditions", conditions}};
  for (const char* name : {"build", "build_settings", "libtorch", "devices", "cpu"}) {
    const bool of_the_machine =
        std::string_view(name) == "devices" || std::string_view(name) == "cpu";
    if (of_the_machine && is_virtual(spec)) continue;
    if (identity.contains(name)) all["identity"][name] = identity.at(name);
  }
  for (const Field& field : fields()) {
    if (field.changes_result) all["spec"][field.name] = field.get(spec);
  }
  // Keys are sorted, so equal content gives equal text.
  uint64_t hash = fnv1a(json_line(all));
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4) {
    *digit = "0123456789abcdef"[hash & 15];
  }
  return digits;
}

}  // namespace headroom
