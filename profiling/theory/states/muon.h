// Memory of an update by Muon.
#pragma once

#include <functional>

#include "profiling/theory/states/parameters.h"
#include "train/optim/table.h"

namespace headroom {

// True if a state of that form has elements for the parameter.
bool keeps_state(StateForm form, const ParameterEntry& parameter);

// The rows of the parameter whose update has most alive: Newton-Schulz at its fullest for a matrix
// of a block, AdamW's denominator for others. `beside`: further bytes that live during the update
// of a parameter. Returns that parameter.
const ParameterEntry& add_muon_temporaries(
    RowBuilder& sheet, DType update_type,
    const std::function<int64_t(const ParameterEntry&)>& beside);

}  // namespace headroom
