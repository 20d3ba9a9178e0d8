// Conditions and machine: they decide a result beside its settings. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "profiling/record/record.h"

namespace headroom {

// False for a Record of version 1 or of another program.
bool says_conditions(const Record& record);

// By name: variables that libtorch reads, stamps of files, figures of the virtual card ("card
// total_bytes"), the place in a process; the machine if it decides times.
using Facts = std::map<std::string, std::string>;
Facts conditions_of(const Record& record);

// Hashes of settings and of conditions, for finding and not for proof.
uint64_t hash_of_settings(const Record& record);

class ConditionHashes {
 public:
  static constexpr uint64_t kUnknown = 0;  // the Record has no conditions

  // Records that share an environment are hashed once: they must outlive this.
  uint64_t of(const Record& record);

 private:
  struct Known {
    std::optional<uint64_t> on_virtual, on_real;
  };
  std::unordered_map<const void*, Known> known_;
};

}  // namespace headroom
