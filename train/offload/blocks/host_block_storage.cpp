#include "train/offload/blocks/host_block_storage.h"

namespace headroom {

using torch::Tensor;

HostBlockStorage::~HostBlockStorage() {
  for (size_t i = 0; i < blocks_.size(); ++i) wait(static_cast<int64_t>(i));
}

void HostBlockStorage::take(const Tensors& from) {
  Block& block = blocks_.emplace_back();
  for (const Tensor& parameter : from) {
    block.buffers.push_back(arena_->take(parameter.numel()));
    block.on_the_way.push_back(copies_->out(parameter, block.buffers.back()));
  }
  leave(static_cast<int64_t>(blocks_.size()) - 1);
}

void HostBlockStorage::fetch(int64_t block, const Tensors& to) {
  Block& asked = blocks_[static_cast<size_t>(block)];
  for (size_t i = 0; i < to.size(); ++i) {
    asked.on_the_way.push_back(copies_->in(asked.buffers[i], to[i]));
  }
}

void HostBlockStorage::wait(int64_t block) {
  auto& on_the_way = blocks_[static_cast<size_t>(block)].on_the_way;
  for (const auto& copy : on_the_way) copy->wait();
  on_the_way.clear();
}

void HostBlockStorage::store(Place place, const HostArena::Buffer& numbers) {
  for_each_common_part(*in_memory(place), numbers,
                       [](Tensor& own, Tensor& other) { own.copy_(other); });
}

}  // namespace headroom
