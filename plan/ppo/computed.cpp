#include "plan/ppo/computed.h"

#include <algorithm>

#include "cards/cards.h"
#include "train/generate/rules.h"

namespace headroom {
namespace {

ElementType cache_type(const RunSpec& shared) {
  RunSpec spec = shared;
  spec.profile_type = Mode::kGenerate;
  switch (kv_cache_shape(spec).type) {
    case KvCacheType::kFp32:
      return ElementType::kFp32;
    case KvCacheType::kFp16:
      return ElementType::kFp16;
    case KvCacheType::kBf16:
      return ElementType::kBf16;
    case KvCacheType::kFp8:
    case KvCacheType::kInt8:
      return ElementType::kFp8;
  }
  return ElementType::kBf16;
}

std::optional<ModelConfig> shape_of(const RunSpec& shared, const PpoSetup& setup, Role role) {
  const std::vector<Role> roles = roles_of(setup);
  if (std::find(roles.begin(), roles.end(), role) == roles.end()) return std::nullopt;
  return model_config(spec_of_role(shared, setup, role));
}

Reference reference_of(const PpoSetup& setup) {
  switch (setup.reference) {
    case ReferencePlace::kOffload:
      return Reference::kOffload;
    case ReferencePlace::kNone:
      return Reference::kNone;
    case ReferencePlace::kResident:
      break;
  }
  return Reference::kResident;
}

void note_what_is_left_out(const RunSpec& shared, const PpoSetup& setup,
                           std::vector<std::string>* left_out) {
  const RunSpec defaults;
  for (const char* name : {"activations", "param_offload", "release_gradients", "prefill_chunk",
                           "decode_graph", "kv_cache_tokens"}) {
    const Field& field = *find_field(name);
    if (!field.same(shared, defaults)) left_out->push_back(field.flag());
  }
  if (setup.ppo.max_tokens_per_micro_batch > 0) {
    left_out->push_back("--max-tokens-per-micro-batch");
  }
  for (const RoleField& one : role_fields()) {
    const auto of_role = setup.of_role.find(one.role);
    if (of_role != setup.of_role.end() && of_role->second.contains(one.field->name)) {
      left_out->push_back("--" + word_of(one.role) + "-" + one.field->flag().substr(2));
    }
  }
}

}  // namespace

std::optional<RlhfSpec> computed_spec(const RunSpec& shared, const PpoSetup& setup,
                                      std::vector<std::string>* left_out) {
  if (!is_virtual(shared)) return std::nullopt;
  RlhfSpec spec;
  spec.actor = model_config(shared);
  spec.critic = shape_of(shared, setup, Role::kCritic);
  spec.reward = shape_of(shared, setup, Role::kReward);
  spec.batch_size = shared.batch_size;
  spec.seq_len = sequence_tokens(shared);
  spec.response_len = response_tokens(shared);
  spec.card = find_card(shared.device.card);
  spec.num_gpus = 1;
  spec.precision = state_precision(shared);
  spec.optimizer = shared.optimizer;
  spec.optimizer_impl = shared.optimizer_impl;
  spec.cache = cache_type(shared);
  spec.attention = shared.attention;
  spec.setup.checkpoint = shared.checkpoint;
  spec.setup.reference = reference_of(setup);
  spec.setup.optimizer_space = shared.optimizer_offload.space;
  const int64_t minibatch = std::max<int64_t>(1, shared.batch_size / setup.ppo.minibatches);
  spec.setup.micro_batch_size = minibatch == shared.batch_size ? 0 : minibatch;
  note_what_is_left_out(shared, setup, left_out);
  return spec;
}

}  // namespace headroom
