#include "plan/rlhf/experience.h"

namespace headroom {

std::vector<ExperienceRow> experience_rows(const RlhfSpec& spec) {
  std::vector<ExperienceRow> rows;
  const auto add = [&](const char* tensor, int64_t element, int64_t tokens, bool generating,
                       const char* why) {
    rows.push_back({tensor, element, element * spec.batch_size * tokens, generating, why});
  };
  add("tokens_BS", 8, spec.seq_len, true, "int64: prompt and response");
  add("mask_BS", 8, spec.seq_len, true, "int64: padding");
  if (!spec.generates()) return rows;
  const int64_t R = spec.response_len;
  add("old_log_probs_BR", 4, R, false, "FP32: of the policy that generated");
  if (spec.setup.reference != Reference::kNone) {
    add("reference_log_probs_BR", 4, R, false, "FP32: for the KL term");
  }
  if (spec.critic) {
    add("values_BR", 4, R, false, "FP32: the critic's");
    add("returns_BR", 4, R, false, "FP32: targets of the critic");
  }
  add("rewards_BR", 4, R, false, "FP32: score and KL per token");
  add("advantages_BR", 4, R, false, "FP32");
  return rows;
}

int64_t experience_bytes(const RlhfSpec& spec, bool while_generating) {
  int64_t bytes = 0;
  for (const ExperienceRow& row : experience_rows(spec)) {
    if (row.while_generating || !while_generating) bytes += row.bytes;
  }
  return bytes;
}

}  // namespace headroom
