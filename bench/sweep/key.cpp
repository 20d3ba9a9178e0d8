// Note [Result keys]
// Rationale: a resumed sweep may return an old row only when running the cell again would give the
//   same one; anything else mixes experiments silently.
// Approach: one hash over everything known to decide the result: the settings marked
//   changes_result, the identity of the cell program (build, libtorch, devices, processor), the
//   variables of the environment that libtorch and CUDA read, and for input files (tokens, weights,
//   cards of the user's) their size and time of change. A different key is simply not found.
//   The processor decides times, on a real card too, which waits for its launches; a Record of a
//   virtual card holds no times, and its bytes are the same whatever the processor.
// Limits: the hash is 64 bits and for finding, not for proof. Settings with equal effect (d_model 0
//   and the named size's own width) have different keys: rerun, never mixed.
#include <sys/stat.h>

#include <array>
#include <cstdlib>

#include "bench/sweep/sweep.h"

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

std::string result_key(const RunSpec& spec, const json& identity) {
  json all = {{"identity", identity}};
  if (is_virtual(spec)) all["identity"].erase("cpu");
  for (const Field& field : fields()) {
    if (field.changes_result) all["spec"][field.name] = field.get(spec);
  }
  for (const char* name : kVariables) {
    // The run's own alloc_conf replaces both variables.
    if (!spec.alloc_conf.empty() && std::string(name).ends_with("ALLOC_CONF")) continue;
    if (const char* value = getenv(name); value != nullptr) all["environment"][name] = value;
  }
  const char* cards = getenv("HEADROOM_CARDS");
  all["files"] = {file_stamp(spec.tokens), file_stamp(spec.load_weights),
                  file_stamp(cards == nullptr ? "" : cards)};
  // Keys come out sorted, so the text is one and the same for the same content.
  uint64_t hash = fnv1a(all.dump(-1, ' ', false, json::error_handler_t::replace));
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4) {
    *digit = "0123456789abcdef"[hash & 15];
  }
  return digits;
}

}  // namespace headroom
