// The flags of `headroom rlhf`, and the spec they form. No torch here.
#pragma once

#include <vector>

#include "cli/flags/flags.h"
#include "plan/rlhf/spec.h"
#include "text/enum_words.h"

namespace headroom {

// The formulas of a plan.
enum class Formula { kExact, kClosedForm };
const EnumWords<Formula>& words_of(Formula);

// --formula. Throws UsageError.
Formula formula_from(const Arguments& arguments);

std::vector<Flag> rlhf_flags();

// Throws UsageError, one line. The result is valid.
RlhfSpec rlhf_spec_from(const Arguments& arguments);

}  // namespace headroom
