// What decides a result beside its settings: the conditions and the machine. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "profiling/record.h"

namespace headroom {

// Not where it is of version 1 or of another program.
bool says_conditions(const Record& record);

// By name: variables that libtorch reads, stamps of files, figures of the virtual card ("card
// total_bytes"), the place in a process; the machine where it decides times.
using Facts = std::map<std::string, std::string>;
Facts conditions_of(const Record& record);

// Equal for equal settings and for equal conditions, for finding and not for proof.
uint64_t hash_of_settings(const Record& record);

class ConditionHashes {
 public:
  static constexpr uint64_t kUnknown = 0;  // the Record does not say

  // Records that share an environment are looked at once: they must outlive this.
  uint64_t of(const Record& record);

 private:
  struct Known {
    std::optional<uint64_t> on_virtual, on_real;
  };
  std::unordered_map<const void*, Known> known_;
};

}  // namespace headroom
