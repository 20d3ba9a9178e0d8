// The form in which a step keeps autograd's saves for backward. No torch here. Applied by
// train/techniques/activations/compressed_activations.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/enum_words.h"
#include "train/settings/vocabulary/dtype.h"

namespace headroom {

enum class ActivationForm { kExact, kInt8, kFp8, kOffload, kOffloadInt8 };
const EnumWords<ActivationForm>& words_of(ActivationForm);

// The 8-bit numbers of an encoded form.
struct CodeType {
  DType type;
  double largest;  // the code of a block's largest magnitude
};

// --activations.
struct Activations {
  ActivationForm form = ActivationForm::kExact;
  int64_t block = 64;             // numbers that share one FP32 scale
  int64_t min_bytes = 64 * 1024;  // smaller storages stay unchanged; offload: 1 MiB

  bool exact() const { return form == ActivationForm::kExact; }
  bool offloaded() const;
  bool encoded() const { return codes() != nullptr; }
  const CodeType* codes() const;  // null: the numbers stay as they are
  bool operator==(const Activations&) const = default;
};

// "exact", "int8", "fp8:block=128,min=1MiB". Throws UsageError.
Activations parse_activations(std::string_view text);

// The text for parse_activations(), without default options.
std::string to_string(const Activations& activations);

// Number of FP32 scales for this many numbers.
int64_t scales_of(int64_t numbers, int64_t block);

}  // namespace headroom
