#include "profiling/report/generation.h"

#include "profiling/report/rows/cells.h"
#include "profiling/report/times/step_times.h"
#include "text/quantity.h"

namespace headroom {

Table generation_table(const GenerationFigures& figures) {
  Table table{.title = "Generation",
              .columns = {{"phase"}, {"tokens", true}, {"ms", true}, {"tokens/s", true}}};
  const auto add = [&](const char* phase, int64_t tokens, const std::vector<double>& all_ms) {
    const auto taken = step_times(all_ms);
    const bool timed = taken && taken->median_ms > 0;
    table.rows.push_back(
        {phase, std::to_string(tokens), timed ? number_text(taken->median_ms, 3) : kNotAvailable,
         timed ? number_text(1000 * static_cast<double>(tokens) / taken->median_ms, 1)
               : kNotAvailable});
  };
  add("prefill", figures.prompt_tokens, figures.prefill_ms);
  add("decode", figures.decoded_tokens, figures.decode_ms);
  table.notes.push_back(
      "Figures of one step; times are medians. The prefill computes the first new token of each "
      "sequence, the decode the others.");
  if (figures.graph_pool_bytes > 0) {
    table.notes.push_back("The CUDA graph of the decode took " +
                          format_bytes(figures.graph_pool_bytes) +
                          " of the card for its private pool.");
  }
  return table;
}

}  // namespace headroom
