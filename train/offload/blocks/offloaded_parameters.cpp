#include "train/offload/blocks/offloaded_parameters.h"

#include <utility>

#include "train/offload/copy_queue.h"

namespace headroom {

using torch::Tensor;

struct OffloadedParameters::Block {
  BlockStorage::Tensors bytes() const {
    BlockStorage::Tensors all;
    for (const Tensor& parameter : parameters) all.push_back(bytes_of(parameter));
    return all;
  }

  void allocate(MemoryTags* tags) const {
    for (size_t i = 0; i < parameters.size(); ++i) {
      c10::StorageImpl& storage = *parameters[i].storage().unsafeGetStorageImpl();
      c10::Allocator* const allocator = c10::GetAllocator(parameters[i].device().type());
      storage.set_data_ptr_noswap(allocator->allocate(storage.nbytes()));
      tag(tags, Category::kParameters, parameters[i], names[i]);
    }
  }

  void free() const {
    for (const Tensor& parameter : parameters) {
      parameter.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
          c10::DataPtr(nullptr, parameter.device()));
    }
  }

  std::vector<Tensor> parameters;
  std::vector<std::string> names;  // by parameter
};

OffloadedParameters::OffloadedParameters(std::unique_ptr<BlockStorage> storage)
    : storage_(std::move(storage)) {}

OffloadedParameters::~OffloadedParameters() = default;

void OffloadedParameters::take(TransformerBlock& block) {
  Block& taken = *blocks_.emplace_back(std::make_unique<Block>());
  taken.parameters = block->parameters();
  taken.names.resize(taken.parameters.size());
  storage_->take(taken.bytes());
  taken.free();
  add();
}

void OffloadedParameters::fetch(int64_t index) {
  const Block& block = *blocks_[static_cast<size_t>(index)];
  block.allocate(tags_);
  storage_->fetch(index, block.bytes());
}

void OffloadedParameters::drop(int64_t index) {
  storage_->leave(index);
  blocks_[static_cast<size_t>(index)]->free();
}

void OffloadedParameters::wait_for(int64_t index) { storage_->wait(index); }

void OffloadedParameters::name(const NamedTensors& parameters) {
  for (const auto& item : parameters) {
    const BlockStorage::Place place = find(item.value());
    if (place.index == kNone) continue;
    blocks_[static_cast<size_t>(place.block)]->names[place.index] = item.key();
  }
}

void OffloadedParameters::listen(ScopeListener* /*scopes*/, MemoryTags* tags) {
  tags_ = tags;
  tag(tags_, Category::kOther, storage_->slabs(), {"parameters on the host"});
}

BlockStorage::Place OffloadedParameters::find(const Tensor& parameter) const {
  for (size_t block = 0; block < blocks_.size(); ++block) {
    const std::vector<Tensor>& parameters = blocks_[block]->parameters;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].is_same(parameter)) return {static_cast<int64_t>(block), i};
    }
  }
  return {0, kNone};
}

std::shared_ptr<HostArena::Buffer> OffloadedParameters::host_buffer(const Tensor& parameter) const {
  const BlockStorage::Place place = find(parameter);
  return place.index == kNone ? nullptr : storage_->in_memory(place);
}

void OffloadedParameters::store(const Tensor& parameter, const HostArena::Buffer& numbers) {
  storage_->store(find(parameter), numbers);
}

Tensor OffloadedParameters::on_host(const Tensor& parameter) const {
  const BlockStorage::Place place = find(parameter);
  if (place.index == kNone) return parameter;
  Tensor numbers = torch::empty(parameter.sizes(), parameter.options().device(torch::kCPU));
  storage_->read(place, bytes_of(numbers));
  return numbers;
}

void OffloadedParameters::set(const Tensor& parameter, const Tensor& numbers) {
  const BlockStorage::Place place = find(parameter);
  if (place.index != kNone) storage_->write(place, bytes_of(numbers));
}

}  // namespace headroom
