#include "train/offload/states/memory_states.h"

namespace headroom {

MemoryStates::MemoryStates(const std::vector<torch::Tensor>& parameters) {
  for (const torch::Tensor& parameter : parameters) {
    StatesInMemory& piece = pieces_.emplace_back();
    piece.region = static_cast<int>(pieces_.size()) - 1;
    piece.numbers = parameter.numel();
    for (float** array : {&piece.master, &piece.m, &piece.v}) {
      tensors_.push_back(torch::empty({parameter.numel()}, torch::kFloat32));
      *array = tensors_.back().data_ptr<float>();
    }
  }
}

void MemoryStates::fill(const Visit& masters) {
  read(masters);
  steps_done_ = 0;
}

void MemoryStates::read(const Visit& look) {
  for (const StatesInMemory& piece : pieces_) look(piece);
}

void MemoryStates::step(std::span<const int> order, const Visit& update) {
  for (const int index : order) update(pieces_[static_cast<size_t>(index)]);
  ++steps_done_;
}

}  // namespace headroom
