#include "virtual_gpu/report/refusal.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace virtual_gpu {

namespace {

// A library that is refused as a whole, and its purpose in programs.
struct Refused {
  std::string_view prefix;
  const char* library;
  const char* used_for;
};

constexpr std::array kRefused{
    Refused{"cusparseLt", "cuSPARSELt", "semi-structured sparsity fails"},
    Refused{"cusparse", "sum or product of two sparse tensors",
            "the size of its result depends on their values, so it fails; a product with a dense "
            "tensor works"},
    Refused{"cusolverDnXgeev",
            "eigendecomposition of general matrices (torch.linalg.eig) by cuSOLVER",
            "its workspace is known only on a real card, so it fails; MAGMA's version runs: "
            "torch.backends.cuda.preferred_linalg_library('magma')"},
    Refused{"ncclDevComm", "NCCL device communicator", "symmetric memory's own kernels fail"},
};

struct SaidOnce {
  std::mutex mutex;
  std::set<std::string> names;
  std::set<std::string_view> libraries;
  std::set<std::string> assumptions;
};

SaidOnce& said_once() {
  static auto* all = new SaidOnce();
  return *all;
}

}  // namespace

void say_refused(const char* name) {
  const std::lock_guard lock(said_once().mutex);
  if (!said_once().names.insert(name).second) return;
  for (const Refused& refused : kRefused) {
    if (!std::string_view(name).starts_with(refused.prefix)) continue;
    if (!said_once().libraries.insert(refused.prefix).second) return;
    std::fprintf(stderr, "virtual GPU: a virtual GPU has no %s: %s (%s)\n", refused.library,
                 refused.used_for, name);
    return;
  }
  std::fprintf(stderr, "virtual GPU: %s is not covered; it returns \"not supported\"\n", name);
}

void say_assumed(const std::string& what) {
  const std::lock_guard lock(said_once().mutex);
  if (!said_once().assumptions.insert(what).second) return;
  std::fprintf(stderr, "virtual GPU: assumed, not known: %s\n", what.c_str());
}

std::vector<std::string> assumptions() {
  const std::lock_guard lock(said_once().mutex);
  return {said_once().assumptions.begin(), said_once().assumptions.end()};
}

std::vector<std::string> refused_names() {
  const std::lock_guard lock(said_once().mutex);
  return {said_once().names.begin(), said_once().names.end()};
}

}  // namespace virtual_gpu

// One function per name. Arguments are ignored: in the C calling convention the caller cleans up.
#define HEADROOM_REFUSE(name, code)  \
  extern "C" int name() {            \
    virtual_gpu::say_refused(#name); \
    return code;                     \
  }
#include "virtual_gpu/report/not_supported.inc"
#undef HEADROOM_REFUSE
