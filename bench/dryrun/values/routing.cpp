#include "bench/dryrun/values/routing.h"

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "bench/dryrun/values/card_memory.h"

namespace headroom {
namespace {

constexpr int64_t kMostExperts = 4096;

std::atomic<uint64_t> selections{0};

enum class Rule { kNone, kBalanced, kWorst, kSeeded };

struct Route {
  Rule rule = Rule::kNone;
  uint64_t seed = 0;
};

const Route& route() {
  static const Route one = [] {
    const char* const text = std::getenv("HEADROOM_DRYRUN_ROUTE");
    if (text == nullptr) return Route{};
    const std::string word = text;
    if (word == "balanced") return Route{.rule = Rule::kBalanced};
    if (word == "worst") return Route{.rule = Rule::kWorst};
    const char* const rank = std::getenv("RANK");
    const uint64_t of_rank = rank == nullptr ? 0 : std::strtoull(rank, nullptr, 10);
    return Route{.rule = Rule::kSeeded,
                 .seed = std::strtoull(text, nullptr, 10) * 1000003 + of_rank};
  }();
  return one;
}

// For each token the first `selected` of a shuffled row.
void draw(int64_t* to, int64_t count, int64_t selected, int64_t experts) {
  std::mt19937_64 generator(route().seed);
  std::vector<int64_t> row(static_cast<size_t>(experts));
  std::iota(row.begin(), row.end(), 0);
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i % selected);
    std::swap(row[at], row[at + generator() % (row.size() - at)]);
    to[i] = row[at];
  }
}

at::Tensor selection(at::IntArrayRef sizes, int64_t experts) {
  at::Tensor indices = at::empty(sizes, at::kLong);
  auto* const to = indices.mutable_data_ptr<int64_t>();
  const int64_t count = indices.numel();
  const int64_t selected = sizes.back();
  if (route().rule == Rule::kSeeded) {
    draw(to, count, selected, experts);
    return indices;
  }
  const int64_t modulus = route().rule == Rule::kWorst ? selected : experts;
  for (int64_t i = 0; i < count; ++i) to[i] = i % modulus;
  return indices;
}

}  // namespace

bool is_routing() { return route().rule != Rule::kNone; }

bool selects_experts(c10::ArrayRef<const c10::IValue> arguments) {
  if (!is_routing() || arguments.size() < 3) return false;
  const at::Tensor& scores = arguments[0].toTensor();
  if (!scores.is_cuda() || scores.dim() < 2 || !scores.is_floating_point()) return false;
  const int64_t dim = arguments[2].toInt();
  const bool is_row = dim == -1 || dim == scores.dim() - 1;
  return is_row && scores.size(-1) <= kMostExperts;
}

void write_selection(const std::vector<c10::IValue>& outputs, int64_t experts) {
  if (outputs.size() != 2 || !outputs[1].isTensor()) return;
  const at::Tensor& indices = outputs[1].toTensor();
  if (indices.numel() == 0 || !is_plain(indices)) return;
  write(indices, selection(indices.sizes(), experts));
  selections.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace headroom

extern "C" uint64_t headroom_routed_selections() { return headroom::selections.load(); }
