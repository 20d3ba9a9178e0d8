// What an update by Muon makes and frees.
#pragma once

#include <functional>

#include "profiling/theory/states/parameters.h"
#include "train/optim/table.h"

namespace headroom {

// Whether a state of that form has elements for the parameter.
bool keeps_state(StateForm form, const ParameterEntry& parameter);

// The rows of the parameter whose update has most alive: of a matrix of a block Newton-Schulz at
// its fullest, of another parameter AdamW's denominator. `beside`: further bytes that live during
// the update of a parameter. Returns that parameter.
const ParameterEntry& add_muon_temporaries(
    RowBuilder& sheet, DType update_type,
    const std::function<int64_t(const ParameterEntry&)>& beside);

}  // namespace headroom
