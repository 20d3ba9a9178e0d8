#include "train/parallel/tensor/tensor_parallel.h"

#include <vector>

#include "train/parallel/tensor/tensor_layers.h"

namespace headroom {

using torch::Tensor;

namespace {
// The head's weight is the token table if the model has tied embeddings.
constexpr const char* kHead = "lm_head.weight";
constexpr const char* kTable = "token_embeddings.weight";
}  // namespace

LayerFactory TensorParallel::layers(const LayerFactory& whole) const {
  return tensor_parallel_layers(whole, *ranks_, by_tokens_);
}

void TensorParallel::cut(const std::string& name, Tensor& parameter) {
  const Split split = split_of(name);
  if (split == Split::kWhole) return;
  const int64_t dim = split == Split::kRows ? 0 : 1;
  const Cut& made = cuts_[name] = {dim, parameter.size(dim)};
  const Range own = range(made);
  const torch::NoGradGuard no_grad;
  parameter.set_data(
      parameter.narrow(dim, own.begin, own.length).clone(at::MemoryFormat::Contiguous));
}

void TensorParallel::take(int64_t layer, TransformerBlock& block) {
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  for (auto& item : block->named_parameters()) cut(prefix + item.key(), item.value());
}

void TensorParallel::take_rest(Transformer& model) {
  for (auto& item : model->named_parameters()) {
    if (cuts_.count(item.key()) == 0) cut(item.key(), item.value());
  }
}

Tensor TensorParallel::loss(const Tensor& logits_BSV, const Tensor& targets_BS) const {
  const Cut& head = cuts_.at(cuts_.contains(kHead) ? kHead : kTable);
  return cross_entropy_of_ranks(logits_BSV, targets_BS, range(head).begin, *ranks_);
}

bool TensorParallel::is_whole(const std::string& parameter) const {
  return cuts_.count(parameter) == 0;
}

NamedTensors TensorParallel::own(const NamedTensors& whole) const {
  NamedTensors all;
  for (const auto& item : whole) {
    const auto cut = cuts_.find(item.key());
    if (cut == cuts_.end()) {
      all.insert(item.key(), item.value());
      continue;
    }
    const Range own = range(cut->second);
    all.insert(item.key(),
               item.value().narrow(cut->second.dim, own.begin, own.length).contiguous());
  }
  return all;
}

std::vector<int64_t> TensorParallel::whole_sizes(const std::string& parameter,
                                                 const Tensor& own) const {
  std::vector<int64_t> sizes = own.sizes().vec();
  const auto cut = cuts_.find(parameter);
  if (cut != cuts_.end()) sizes[static_cast<size_t>(cut->second.dim)] = cut->second.whole;
  return sizes;
}

std::vector<int64_t> TensorParallel::offsets(const std::string& parameter,
                                             const Tensor& own) const {
  std::vector<int64_t> offsets(static_cast<size_t>(own.dim()), 0);
  const auto cut = cuts_.find(parameter);
  if (cut != cuts_.end()) offsets[static_cast<size_t>(cut->second.dim)] = range(cut->second).begin;
  return offsets;
}

NamedTensors TensorParallel::whole(const NamedTensors& own, torch::Device device) const {
  const torch::NoGradGuard no_grad;
  NamedTensors all;
  for (const auto& item : own) {
    const auto cut = cuts_.find(item.key());
    if (cut == cuts_.end()) {
      all.insert(item.key(), item.value());
      continue;
    }
    // All parts must have one size: the last one is padded.
    const auto [dim, total] = cut->second;
    const int64_t piece = part_of(total, ranks_->size(), 0).length;
    const Tensor part = item.value().transpose(0, dim);
    std::vector<int64_t> sizes = part.sizes().vec();
    sizes[0] = piece;
    Tensor padded = torch::zeros(sizes, part.options().requires_grad(false).device(device));
    padded.narrow(0, 0, part.size(0)).copy_(part);
    sizes[0] = piece * ranks_->size();
    Tensor gathered = torch::empty(sizes, padded.options());
    ranks_->all_gather(gathered, padded)->wait();
    const Tensor whole = gathered.narrow(0, 0, total).transpose(0, dim).contiguous();
    all.insert(item.key(), whole.to(part.device()));
  }
  return all;
}

void TensorParallel::finish_gradients(const std::vector<std::string>& names,
                                      const std::vector<Tensor>& gradients) const {
  std::vector<Tensor> parts;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_part = is_whole(names[i]) && (by_tokens_ || is_of_each_head(names[i]));
    if (is_part && gradients[i].defined()) parts.push_back(gradients[i]);
  }
  if (!parts.empty()) ranks_->all_reduce(parts)->wait();
}

}  // namespace headroom
