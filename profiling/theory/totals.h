// The totals of a step as a table. No torch here.
#pragma once

#include <array>
#include <optional>

#include "profiling/theory/activations/kv_cache.h"
#include "profiling/theory/peak.h"
#include "text/table.h"

namespace headroom {

// The groups outside the blocks and the loss, in the order of the tables.
inline constexpr std::array kStateGroups = {kParameters,
                                            kMasterWeights,
                                            kGradients,
                                            kClipping,
                                            kOptimizerState,
                                            kOptimizerNextState,
                                            kOptimizerTemporaries,
                                            kCastCache,
                                            kPassingCast,
                                            kKvCacheRows,
                                            kLossScaler,
                                            kTables,
                                            kInputs,
                                            kBatchLoss};

// One column per mode, one row per quantity, in bytes; the peak if there is one.
Table totals_table(const RunSpec& spec, const std::optional<Peak>& peak);

}  // namespace headroom
