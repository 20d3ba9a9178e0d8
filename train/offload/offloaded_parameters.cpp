#include "train/offload/offloaded_parameters.h"

#include <utility>

namespace headroom {

using torch::Tensor;

namespace {

// With a count of changes of its own: a weight that comes back is the one that nodes have saved.
Tensor bytes_of(const Tensor& tensor) {
  return tensor.variable_data().view({-1}).view(torch::kUInt8);
}

// Parts of a buffer, one after another, as one vector of bytes, and back.
void gather(const HostArena::Buffer& from, const Tensor& to) {
  int64_t at = 0;
  for (const Tensor& part : from.parts()) {
    to.narrow(0, at, part.numel()).copy_(part);
    at += part.numel();
  }
}

void scatter(const Tensor& from, const HostArena::Buffer& to) {
  int64_t at = 0;
  for (const Tensor& part : to.parts()) {
    part.copy_(from.narrow(0, at, part.numel()));
    at += part.numel();
  }
}

}  // namespace

// The parameters of one block: on the host always, on the card at times.
class OffloadedParameters::Block {
 public:
  Block(std::vector<Tensor> parameters, HostArena& arena, CopyQueue& copies)
      : parameters_(std::move(parameters)), copies_(copies) {
    for (const Tensor& parameter : parameters_) {
      homes_.push_back(arena.take(static_cast<int64_t>(parameter.nbytes())));
      on_the_way_.push_back(copies_.out(bytes_of(parameter), homes_.back()));
    }
    drop();
  }
  ~Block() { wait(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Asks for what is not there. Whoever computes with it waits.
  void fetch(MemoryClaims* claims) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      c10::StorageImpl& storage = *parameters_[i].storage().unsafeGetStorageImpl();
      c10::Allocator* const allocator = c10::GetAllocator(parameters_[i].device().type());
      storage.set_data_ptr_noswap(allocator->allocate(storage.nbytes()));
      claim(claims, Category::kParameters, parameters_[i], names[i]);
      on_the_way_.push_back(copies_.in(homes_[i], bytes_of(parameters_[i])));
    }
  }

  void wait() {
    for (const auto& copy : on_the_way_) copy->wait();
    on_the_way_.clear();
  }

  void drop() {
    wait();  // the memory is anybody's from here on
    for (const Tensor& parameter : parameters_) {
      parameter.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
          c10::DataPtr(nullptr, parameter.device()));
    }
  }

  const std::vector<Tensor>& parameters() const { return parameters_; }
  const std::shared_ptr<HostArena::Buffer>& home(size_t i) const { return homes_[i]; }

  std::vector<std::string> names;  // of the parameters

 private:
  std::vector<Tensor> parameters_;
  std::vector<std::shared_ptr<HostArena::Buffer>> homes_;
  std::vector<std::unique_ptr<Copy>> on_the_way_;
  CopyQueue& copies_;
};

OffloadedParameters::OffloadedParameters(torch::Device device, std::shared_ptr<CopyQueue> copies)
    : device_(device),
      copies_(std::move(copies)),
      arena_(HostArena::make(/*pinned=*/device.is_cuda(), /*limit_bytes=*/0)) {}

OffloadedParameters::~OffloadedParameters() = default;

void OffloadedParameters::take(TransformerBlock& block) {
  blocks_.push_back(std::make_unique<Block>(block->parameters(), *arena_, *copies_));
  add();
  blocks_.back()->names.resize(blocks_.back()->parameters().size());
}

void OffloadedParameters::fetch(int64_t index) {
  blocks_[static_cast<size_t>(index)]->fetch(claims_);
}

void OffloadedParameters::drop(int64_t index) { blocks_[static_cast<size_t>(index)]->drop(); }

void OffloadedParameters::wait_for(int64_t index) { blocks_[static_cast<size_t>(index)]->wait(); }

BlockRunner OffloadedParameters::around(BlockRunner inner) {
  return [this, inner = std::move(inner)](int64_t index, TransformerBlock& block,
                                          const Tensor& x_BSD) {
    const bool with_graph = torch::GradMode::is_enabled();
    const bool hooked = with_graph && !in_backward();
    struct Running {
      OffloadedParameters& owner;
      int64_t index;
      bool with_graph;
      ~Running() { owner.end_run(index, with_graph); }
    };
    begin_run(index);
    const Running running{*this, index, with_graph};
    if (hooked && index == 0) {
      x_BSD.register_hook([this](const Tensor&) { end_backward(); });
    }
    Tensor y_BSD = inner(index, block, x_BSD);
    if (hooked) {
      y_BSD.register_hook([this, index](const Tensor&) { begin_backward(index); });
    }
    return y_BSD;
  };
}

void OffloadedParameters::listen(MemoryClaims* claims, const NamedTensors& named) {
  claims_ = claims;
  for (const auto& block : blocks_) {
    for (size_t i = 0; i < block->names.size(); ++i) {
      for (const auto& item : named) {
        if (item.value().is_same(block->parameters()[i])) block->names[i] = item.key();
      }
    }
  }
  claim(claims_, Category::kOther, arena_->slabs(), {"parameters on the host"});
}

OffloadedParameters::Place OffloadedParameters::find(const Tensor& parameter) const {
  for (const auto& block : blocks_) {
    for (size_t i = 0; i < block->parameters().size(); ++i) {
      if (block->parameters()[i].is_same(parameter)) return {block.get(), i};
    }
  }
  return {};
}

std::shared_ptr<HostArena::Buffer> OffloadedParameters::home(const Tensor& parameter) const {
  const Place place = find(parameter);
  return place.block == nullptr ? nullptr : place.block->home(place.index);
}

Tensor OffloadedParameters::on_host(const Tensor& parameter) const {
  const auto from = home(parameter);
  if (from == nullptr) return parameter;
  Tensor numbers = torch::empty(parameter.sizes(), parameter.options().device(torch::kCPU));
  gather(*from, bytes_of(numbers));
  return numbers;
}

void OffloadedParameters::set(const Tensor& parameter, const Tensor& numbers) {
  const auto to = home(parameter);
  if (to != nullptr) scatter(bytes_of(numbers), *to);
}

}  // namespace headroom
