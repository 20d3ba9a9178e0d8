#include "profiling/snapshot/analysis/alignment.h"

#include <algorithm>
#include <unordered_map>

#include "text/hash.h"

namespace headroom {
namespace {

using Tokens = std::vector<uint64_t>;

// For each index, the hash of the kAgain tokens from it on; the last ones have fewer.
Tokens hashes_of_rows(const Tokens& tokens) {
  Tokens hashes(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    uint64_t hash = 1;
    for (size_t k = i; k < std::min(i + kAgain, tokens.size()); ++k) mix(hash, tokens[k]);
    hashes[i] = hash;
  }
  return hashes;
}

class Alignment {
 public:
  Alignment(const Tokens& a, const Tokens& b)
      : a_(a), b_(b), rows_a_(hashes_of_rows(a)), rows_b_(hashes_of_rows(b)) {
    for (size_t j = 0; j < rows_b_.size(); ++j) places_in_b_[rows_b_[j]].push_back(j);
  }

  Moments run() {
    moments_.emplace_back(-1, -1);
    while (i_ < a_.size() || j_ < b_.size()) {
      if (i_ < a_.size() && j_ < b_.size() && a_[i_] == b_[j_]) {
        step(true, true);
      } else {
        skip_to_next_row();
      }
    }
    return std::move(moments_);
  }

 private:
  void step(bool in_a, bool in_b) {
    i_ += in_a ? 1 : 0;
    j_ += in_b ? 1 : 0;
    moments_.emplace_back(static_cast<int64_t>(i_) - 1, static_cast<int64_t>(j_) - 1);
  }

  // Each look costs one token that is then skipped, so all of them are linear in the traces.
  void skip_to_next_row() {
    size_t skip_a = a_.size() - i_;
    size_t skip_b = b_.size() - j_;
    for (size_t skipped = 0; i_ + skipped < a_.size() && skipped < skip_a + skip_b; ++skipped) {
      const auto places = places_in_b_.find(rows_a_[i_ + skipped]);
      if (places == places_in_b_.end()) continue;
      const auto place = std::lower_bound(places->second.begin(), places->second.end(), j_);
      if (place == places->second.end() || skipped + (*place - j_) >= skip_a + skip_b) continue;
      skip_a = skipped;
      skip_b = *place - j_;
    }
    const size_t a_end = i_ + skip_a;
    const size_t b_end = j_ + skip_b;
    size_t longer = std::max(skip_a, skip_b);
    if (a_end == a_.size() && b_end == b_.size()) {
      longer = std::min(longer, std::min(skip_a, skip_b) + kLongestTail);
    }
    for (size_t k = 0; k < longer; ++k) step(k < skip_a, k < skip_b);
    i_ = a_end;
    j_ = b_end;
  }

  const Tokens& a_;
  const Tokens& b_;
  Tokens rows_a_, rows_b_;
  std::unordered_map<uint64_t, std::vector<size_t>> places_in_b_;
  size_t i_ = 0;
  size_t j_ = 0;
  Moments moments_;
};

}  // namespace

Moments align(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  return Alignment(a, b).run();
}

double matched_share(const Moments& moments, const std::vector<uint64_t>& a,
                     const std::vector<uint64_t>& b) {
  const size_t longer = std::max(a.size(), b.size());
  size_t matched = 0;
  for (size_t k = 1; k < moments.size(); ++k) {
    const auto [i, j] = moments[k];
    const auto [before_i, before_j] = moments[k - 1];
    if (i == before_i || j == before_j) continue;
    matched += a[static_cast<size_t>(i)] == b[static_cast<size_t>(j)] ? 1 : 0;
  }
  return longer == 0 ? 1 : static_cast<double>(matched) / static_cast<double>(longer);
}

}  // namespace headroom
