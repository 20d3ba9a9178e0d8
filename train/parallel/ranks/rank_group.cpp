#include "train/parallel/ranks/rank_group.h"

namespace headroom {

using torch::Tensor;

void RankGroup::count(Collective kind, const std::vector<Tensor>& tensors) {
  Moved& moved = moved_.at(static_cast<size_t>(kind));
  ++moved.calls;
  for (const Tensor& tensor : tensors) moved.bytes += static_cast<int64_t>(tensor.nbytes());
}

RankGroup::Work RankGroup::all_reduce(std::vector<Tensor> tensors) {
  count(Collective::kAllReduce, tensors);
  return tensors.size() == 1 ? backend_->allreduce(tensors)
                             : backend_->allreduce_coalesced(tensors);
}

RankGroup::Work RankGroup::all_max(Tensor tensor) {
  std::vector<Tensor> one = {std::move(tensor)};
  count(Collective::kAllReduce, one);
  return backend_->allreduce(one, {.reduceOp = c10d::ReduceOp::MAX});
}

bool RankGroup::all(bool here, torch::Device device) {
  const Tensor others = torch::full({1}, here ? 0 : 1, torch::dtype(torch::kInt32).device(device));
  all_reduce({others})->wait();
  return others.item<int>() == 0;
}

RankGroup::Work RankGroup::reduce_scatter(Tensor own, Tensor whole) {
  count(Collective::kReduceScatter, {whole});
  own = own.view({-1});
  whole = whole.view({-1});
  return backend_->_reduce_scatter_base(own, whole);
}

RankGroup::Work RankGroup::reduce_scatter(std::vector<Tensor> own, std::vector<Tensor> whole) {
  if (own.size() == 1) return reduce_scatter(own.front(), whole.front());
  count(Collective::kReduceScatter, whole);
  return backend_->reduce_scatter_tensor_coalesced(own, whole);
}

RankGroup::Work RankGroup::all_gather(Tensor whole, Tensor own) {
  count(Collective::kAllGather, {whole});
  own = own.view({-1});
  whole = whole.view({-1});
  return backend_->_allgather_base(whole, own);
}

RankGroup::Work RankGroup::send(Tensor tensor, int64_t to, int tag) {
  std::vector<Tensor> one = {std::move(tensor)};
  count(Collective::kSend, one);
  return backend_->send(one, static_cast<int>(to), tag);
}

RankGroup::Work RankGroup::receive(Tensor tensor, int64_t from, int tag) {
  std::vector<Tensor> one = {std::move(tensor)};
  return backend_->recv(one, static_cast<int>(from), tag);
}

}  // namespace headroom
