#include "text/words.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "text/quantity.h"

namespace headroom {
namespace {

int64_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// Length of the longest common subsequence.
int64_t common_letters(std::string_view a, std::string_view b) {
  std::vector<int64_t> row(b.size() + 1);
  for (const char letter : a) {
    int64_t diagonal = 0;
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t above = row[j];
      row[j] = letter == b[j - 1] ? diagonal + 1 : std::max(row[j], row[j - 1]);
      diagonal = above;
    }
  }
  return row[b.size()];
}

// The name that `text` shortens or spells out: "fwd" is forward, "train" is training, "bfloat16" is
// bf16. It begins with the same letter, and at least three in four letters of the shorter one are
// in the longer one, in order. The shortest of several; else "".
std::string same_word(std::string_view text, const std::vector<std::string>& candidates) {
  std::string best;
  for (const std::string& candidate : candidates) {
    const auto shorter = static_cast<int64_t>(std::min(text.size(), candidate.size()));
    if (shorter < 3 || text.front() != candidate.front()) continue;
    if (4 * common_letters(text, candidate) < 3 * shorter) continue;
    if (best.empty() || candidate.size() < best.size()) best = candidate;
  }
  return best;
}

// The shortest name that begins with `text` ("adam8" for adam8bit), else the longest that it begins
// with ("flash2" for flash); else "".
std::string begun(std::string_view text, const std::vector<std::string>& candidates) {
  constexpr size_t kSaysSomething = 3;  // letters
  std::string longer;
  std::string shorter;
  for (const std::string& candidate : candidates) {
    if (text.size() >= kSaysSomething && candidate.starts_with(text)) {
      if (longer.empty() || candidate.size() < longer.size()) longer = candidate;
    } else if (candidate.size() >= kSaysSomething && text.starts_with(candidate)) {
      if (candidate.size() > shorter.size()) shorter = candidate;
    }
  }
  return longer.empty() ? shorter : longer;
}

// The probable intention; "" = unknown.
std::string near_word(std::string_view text, const std::vector<std::string>& candidates) {
  std::string nearest = nearest_name(text, candidates);
  std::string part = begun(text, candidates);
  // A missing ending is likelier than a wrong one: adam8 is adam8bit, not adamw.
  if (part.starts_with(text)) return part;
  if (!nearest.empty()) return nearest;
  return part.empty() ? same_word(text, candidates) : part;
}

[[noreturn]] void refuse_word(std::string_view flag, std::string_view word,
                              const std::vector<std::string>& allowed, const std::string& hint,
                              std::string_view example) {
  throw UsageError(flag, word, "is unknown; allowed: " + join(allowed) + hint, example);
}

}  // namespace

std::string join(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != words.data()) text += between;
    text += word;
  }
  return text;
}

std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string renamed(const std::string& old_flag, const std::string& flag) {
  return old_flag + " is now " + flag + "; both work";
}

std::string without_dashes(const std::string& flag) {
  return flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
}

bool is_one_of(std::string_view word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string nearest_name(std::string_view text, const std::vector<std::string>& candidates) {
  std::string best;
  int64_t best_distance = 3;
  for (const auto& candidate : candidates) {
    const int64_t distance = edit_distance(text, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& near) {
  return near.empty() ? "" : "; did you mean " + near + "?";
}

void check_choice(std::string_view flag, std::string_view word,
                  const std::vector<std::string>& allowed, std::string_view example) {
  if (!is_one_of(word, allowed)) refuse_word(flag, word, allowed, "", example);
}

void check_name(std::string_view flag, std::string_view word,
                const std::vector<std::string>& allowed, std::string_view example) {
  if (!is_one_of(word, allowed)) refuse_name(flag, word, allowed, example);
}

void refuse_name(std::string_view flag, std::string_view word,
                 const std::vector<std::string>& allowed, std::string_view example) {
  refuse_word(flag, word, allowed, did_you_mean(near_word(word, allowed)), example);
}

void refuse_option(const std::string& typed, const std::vector<std::string>& known) {
  std::string near = nearest_name(typed, known);
  if (near.empty()) {  // compare the names alone: dashes are no similarity
    std::vector<std::string> names;
    names.reserve(known.size());
    for (const std::string& flag : known) names.push_back(without_dashes(flag));
    near = near_word(without_dashes(typed), names);
    if (!near.empty()) near.insert(0, "--");
  }
  throw UsageError(
      "unknown option " + typed +
      (near.empty() ? "; --help lists the known ones" : ", did you mean " + near + "?"));
}

void refuse_argument(const std::string& typed) {
  throw UsageError("argument '" + typed +
                   "' belongs to no flag; a list is written without spaces "
                   "(example: headroom sweep --model-size small --context-length 128,256)");
}

}  // namespace headroom
