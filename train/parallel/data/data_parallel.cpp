#include "train/parallel/data/data_parallel.h"

#include <limits>
#include <utility>

#include "text/quantity.h"
#include "train/parallel/data/buckets.h"

namespace headroom {

using torch::Tensor;

namespace {

// 7 for "layers.7.ln1.weight"; -1 outside all blocks.
int64_t block_of(const std::string& name) {
  const std::string prefix = "layers.";
  if (name.rfind(prefix, 0) != 0) return -1;
  return parse_integer("a parameter's block",
                       name.substr(prefix.size(), name.find('.', prefix.size()) - prefix.size()), 0,
                       std::numeric_limits<int32_t>::max());
}

}  // namespace

DataParallel::DataParallel(const NamedTensors& parameters, std::shared_ptr<RankGroup> replicas,
                           int64_t bucket_bytes)
    : names_(parameters.keys()),
      parameters_(parameters.values()),
      group_(std::move(replicas)),
      bucket_bytes_(bucket_bytes),
      bucket_of_(parameters_.size()),
      hooks_(parameters_, [this](size_t index) {
        sink_ == nullptr ? completed(index) : completed_for_sink(index);
      }) {
  cut({});
}

void DataParallel::cut(const std::vector<int64_t>& blocks) {
  std::vector<int64_t> bytes;
  for (const Tensor& parameter : parameters_) {
    bytes.push_back(static_cast<int64_t>(parameter.nbytes()));
  }
  buckets_.clear();
  for (std::vector<size_t>& parameters : buckets_of(bytes, blocks, bucket_bytes_)) {
    for (const size_t i : parameters) bucket_of_[i] = buckets_.size();
    buckets_.push_back({.parameters = std::move(parameters)});
  }
  begin_step();
}

void DataParallel::send_to(GradientSink& sink) {
  sink_ = &sink;
  std::vector<int64_t> blocks;
  for (const std::string& name : names_) blocks.push_back(block_of(name));
  cut(blocks);
}

void DataParallel::begin_step() {
  sends_ = false;
  begun_ = 0;
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.parameters.size();
    bucket.sum.reset();
    bucket.was_given = false;
  }
  adding_up_ = nullptr;
}

// Runs on autograd's thread; the step waits for it.
void DataParallel::completed(size_t parameter) {
  if (!sends_) return;
  --buckets_[bucket_of_[parameter]].missing;
  while (begun_ < buckets_.size() && buckets_[begun_].missing == 0) begin_sum(buckets_[begun_++]);
}

void DataParallel::begin_sum(Bucket& bucket) {
  std::vector<Tensor> gradients;
  gradients.reserve(bucket.parameters.size());
  for (const size_t i : bucket.parameters) {
    gradients.push_back(parameters_[i].grad());
  }
  bucket.sum = group_->all_reduce(std::move(gradients));
}

// A backward may cover only some blocks, so each complete bucket is sent at once.
void DataParallel::completed_for_sink(size_t parameter) {
  tag(tags_, Category::kGradients, parameters_[parameter].grad(), names_[parameter]);
  Bucket& bucket = buckets_[bucket_of_[parameter]];
  if (--bucket.missing > 0) return;
  bucket.missing = bucket.parameters.size();
  begin_sum(bucket);
  if (Bucket* before = std::exchange(adding_up_, &bucket)) give(*before);
}

void DataParallel::give(Bucket& bucket) {
  std::exchange(bucket.sum, nullptr)->wait();
  bucket.was_given = true;
  for (const size_t i : bucket.parameters) sink_->give(i);
}

void DataParallel::end_backward(const Task& /*task*/) {
  if (Bucket* last = std::exchange(adding_up_, nullptr)) give(*last);
}

void DataParallel::check_given() const {
  for (const Bucket& bucket : buckets_) {
    if (!bucket.was_given || bucket.missing < bucket.parameters.size()) check_gradients(bucket);
  }
}

void DataParallel::check_gradients(const Bucket& bucket) const {
  for (const size_t i : bucket.parameters) {
    TORCH_CHECK(parameters_[i].grad().defined(), "parameter ", names_[i],
                " has no gradient to add to the other replicas'");
  }
}

void DataParallel::gradients_ready() {
  if (sink_ != nullptr) return check_given();
  if (begun_ < buckets_.size()) check_gradients(buckets_[begun_]);
  const torch::NoGradGuard no_grad;
  const double share = 1.0 / static_cast<double>(group_->size());
  for (Bucket& bucket : buckets_) {
    bucket.sum->wait();
    bucket.sum.reset();
    for (const size_t i : bucket.parameters) parameters_[i].mutable_grad().mul_(share);
  }
}

}  // namespace headroom
