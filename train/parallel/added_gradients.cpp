#include "train/parallel/added_gradients.h"

namespace headroom {

using torch::Tensor;

AddedGradients::AddedGradients(const NamedTensors& parameters, std::shared_ptr<RankGroup> replicas,
                               int64_t bucket_bytes)
    : names_(parameters.keys()),
      parameters_(parameters.values()),
      group_(std::move(replicas)),
      bucket_of_(parameters_.size()),
      hooks_(parameters_, [this](size_t index) { completed(index); }) {
  int64_t bytes = 0;
  for (size_t i = parameters_.size(); i-- > 0;) {
    if (buckets_.empty() || bytes >= bucket_bytes) {
      buckets_.emplace_back();
      bytes = 0;
    }
    buckets_.back().parameters.push_back(i);
    bucket_of_[i] = buckets_.size() - 1;
    bytes += static_cast<int64_t>(parameters_[i].nbytes());
  }
}

void AddedGradients::begin_step() {
  sends_ = false;
  begun_ = 0;
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.parameters.size();
    bucket.sum.reset();
  }
}

// On autograd's thread, which the step waits for.
void AddedGradients::completed(size_t parameter) {
  if (!sends_) return;
  --buckets_[bucket_of_[parameter]].missing;
  while (begun_ < buckets_.size() && buckets_[begun_].missing == 0) begin_sum(buckets_[begun_++]);
}

void AddedGradients::begin_sum(Bucket& bucket) {
  std::vector<Tensor> gradients;
  gradients.reserve(bucket.parameters.size());
  for (const size_t i : bucket.parameters) {
    gradients.push_back(parameters_[i].grad());
  }
  bucket.sum = group_->all_reduce(std::move(gradients));
}

void AddedGradients::finish() {
  if (begun_ < buckets_.size()) {
    for (const size_t i : buckets_[begun_].parameters) {
      TORCH_CHECK(parameters_[i].grad().defined(), "parameter ", names_[i],
                  " has no gradient to add to the other replicas'");
    }
  }
  const torch::NoGradGuard no_grad;
  const double share = 1.0 / static_cast<double>(group_->size());
  for (Bucket& bucket : buckets_) {
    bucket.sum->wait();
    bucket.sum.reset();
    for (const size_t i : bucket.parameters) parameters_[i].mutable_grad().mul_(share);
  }
}

}  // namespace headroom
