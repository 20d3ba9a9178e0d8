#include "profiling/report/generation.h"

#include "profiling/report/step_times.h"
#include "text/quantity.h"

namespace headroom {

Table generation_table(const GenerationTimes& times) {
  Table table{.title = "Generation, median of the measured steps",
              .columns = {{"phase"}, {"tokens", true}, {"ms", true}, {"tokens/s", true}}};
  const auto add = [&](const char* phase, int64_t tokens, const std::vector<double>& all_ms) {
    const auto taken = step_times(all_ms);
    if (!taken || taken->median_ms <= 0 || tokens == 0) return;
    table.rows.push_back({phase, std::to_string(tokens), number_text(taken->median_ms, 3),
                          number_text(1000 * static_cast<double>(tokens) / taken->median_ms, 1)});
  };
  add("prefill", times.prompt_tokens, times.prefill_ms);
  add("decode", times.decoded_tokens, times.decode_ms);
  table.notes.push_back(
      "Each phase from a synchronized device to a synchronized device. The prefill gives each "
      "sequence its first new token, the decode the others.");
  return table;
}

}  // namespace headroom
