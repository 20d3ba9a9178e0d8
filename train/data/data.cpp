#include "train/data/data.h"

#include <ATen/CPUGeneratorImpl.h>

#include "train/generate/rules.h"

namespace headroom {

Data::Data(const RunSpec& spec, int64_t vocab_size, torch::Device device, int64_t steps,
           int64_t replica)
    : replicas_(spec.mesh.size(MeshAxis::kData)),
      replica_(replica),
      batch_size_(spec.batch_size),
      context_length_(spec.profile_type == Mode::kGenerate ? prompt_tokens(spec)
                                                           : spec.context_length),
      vocab_size_(vocab_size),
      seed_(spec.seed),
      has_targets_(spec.profile_type != Mode::kGenerate),
      device_(device) {
  if (spec.tokens.empty()) return;
  file_ = std::make_unique<TokenFile>(spec.tokens, spec.token_type);
  file_->check_ids(vocab_size, replicas_ * batch_size_ * context_length_, steps);
}

Batch Data::batch(int64_t step) const {
  const int64_t own = batch_size_ * context_length_;
  const int64_t count = replicas_ * own;  // of all replicas
  const int64_t first = replica_ * own;
  torch::Tensor ids;
  if (file_ != nullptr) {
    ids = torch::empty({count + 1}, torch::kInt64);
    auto* out = ids.mutable_data_ptr<int64_t>();
    // step * count is below 2^62 for every step of a valid spec: train/settings/limits.h.
    for (int64_t i = 0; i <= count; ++i) out[i] = file_->at(step * count + i);
  } else {
    // Drawn on the host for every device, so that all devices see the same tokens.
    auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed_) * 1000003 +
                                                    static_cast<uint64_t>(step));
    ids = torch::randint(vocab_size_, {count + 1}, generator, torch::kInt64);
  }
  const auto place = [&](const torch::Tensor& window) {
    return window.view({batch_size_, context_length_})
        .to(device_, torch::kInt64, /*non_blocking=*/false, /*copy=*/true);
  };
  if (!has_targets_) return {place(ids.narrow(0, first, own)), {}};
  return {place(ids.narrow(0, first, own)), place(ids.narrow(0, first + 1, own))};
}

}  // namespace headroom
