#include "train/ppo/phases/rollout.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "train/generate/generate.h"
#include "train/settings/device/real_device.h"

namespace headroom {

using torch::Tensor;

namespace {

at::Generator seeded(torch::Device device, uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(seed);
  return generator;
}

// The next token of each sequence, (B), sampled from the model's output at positions_B.
Tensor next_tokens(Step& actor, const Tensor& tokens_BS, const Tensor& positions_B,
                   double temperature, const at::Generator& random) {
  return actor.infer(tokens_BS, [&](Transformer& model, const Tensor& hidden_BSD) {
    const Tensor rows_B = torch::arange(hidden_BSD.size(0), positions_B.options());
    const Tensor last_BD = hidden_BSD.index({rows_B, positions_B});
    const Tensor logits_BV = model->head(last_BD).to(torch::kFloat32) / temperature;
    return at::multinomial(torch::softmax(logits_BV, -1), 1, /*replacement=*/true, random)
        .squeeze(-1);
  });
}

// A virtual card has no tokens, so no sequence ends early.
Indices response_lengths(const Tensor& generated_B, const PpoSpec& spec) {
  Indices lengths(static_cast<size_t>(generated_B.numel()), spec.response_length);
  if (spec.end_token < 0 || !is_real(generated_B.device())) return lengths;
  const Tensor on_host = generated_B.cpu();
  std::copy_n(on_host.const_data_ptr<int64_t>(), lengths.size(), lengths.begin());
  return lengths;
}

}  // namespace

Prompts repeated(const Prompts& prompts, int64_t times) {
  Prompts made = {prompts.tokens_BP.repeat_interleave(times, 0), {}};
  for (const int64_t length : prompts.lengths)
    made.lengths.insert(made.lengths.end(), times, length);
  return made;
}

Experience generate_by_full_forward(Step& actor, const Prompts& prompts, const PpoSpec& spec,
                                    uint64_t seed) {
  const at::Generator random = seeded(prompts.tokens_BP.device(), seed);
  const int64_t longest = *std::max_element(prompts.lengths.begin(), prompts.lengths.end());
  const auto integers = prompts.tokens_BP.options();
  const Tensor lengths_B = on_device(prompts.lengths, prompts.tokens_BP);
  const Tensor valid_BP = torch::arange(longest, integers) < lengths_B.unsqueeze(-1);
  Tensor tokens_BS =
      torch::zeros({prompts.tokens_BP.size(0), longest + spec.response_length}, integers);
  tokens_BS.narrow(1, 0, longest)
      .copy_(prompts.tokens_BP.narrow(1, 0, longest).masked_fill(~valid_BP, 0));
  Tensor running_B = torch::ones_like(lengths_B, torch::kBool);
  Tensor generated_B = torch::zeros_like(lengths_B);
  for (int64_t i = 0; i < spec.response_length; ++i) {
    const Tensor sampled_B = next_tokens(actor, tokens_BS.narrow(1, 0, longest + i),
                                         lengths_B + i - 1, spec.temperature, random);
    const Tensor next_B = sampled_B.masked_fill(~running_B, 0);
    tokens_BS.scatter_(1, (lengths_B + i).unsqueeze(-1), next_B.unsqueeze(-1));
    generated_B += running_B;
    if (spec.end_token >= 0) running_B = running_B & (next_B != spec.end_token);
  }
  return make_experience(tokens_BS, prompts.lengths, response_lengths(generated_B, spec));
}

Generate generate_with_cache(const KvCacheShape& cache) {
  return generate_with(Generation{.cache = cache});
}

Generate generate_with(const Generation& how) {
  return [how](Step& actor, const Prompts& prompts, const PpoSpec& spec, uint64_t seed) {
    Generation settings = how;
    settings.response_len = spec.response_length;
    settings.end_token = spec.end_token;
    settings.sampling.temperature = spec.temperature;
    settings.seed = seed;
    const int64_t longest = *std::max_element(prompts.lengths.begin(), prompts.lengths.end());
    settings.cache.tokens = longest + spec.response_length;
    if (how.cache.sequences == 0) settings.cache.sequences = prompts.tokens_BP.size(0);
    actor.hooks.begin_step();
    const Generated made = generate(actor, settings, prompts);
    Indices responses(prompts.lengths.size());
    std::transform(made.lengths.begin(), made.lengths.end(), prompts.lengths.begin(),
                   responses.begin(), std::minus<>());
    return make_experience(made.tokens_BT, prompts.lengths, std::move(responses));
  };
}

}  // namespace headroom
