#include "train/parallel/data/fsdp_unit.h"

#include <utility>

namespace headroom {
namespace {

using torch::Tensor;

std::vector<int64_t> numels_of(const std::vector<Tensor>& tensors) {
  std::vector<int64_t> numels;
  numels.reserve(tensors.size());
  for (const Tensor& tensor : tensors) numels.push_back(tensor.numel());
  return numels;
}

void wait_for(RankGroup::Work& work) {
  if (work) std::exchange(work, nullptr)->wait();
}

}  // namespace

FsdpUnit::FsdpUnit(std::string name, const NamedTensors& parameters, int64_t zero,
                   SharingRanks ranks)
    : name_(std::move(name)),
      names_(parameters.keys()),
      parameters_(parameters.values()),
      zero_(zero),
      ranks_(std::move(ranks)),
      layout_(numels_of(parameters_), ranks_.sharers->size()) {
  const torch::NoGradGuard no_grad;
  flat_ = torch::zeros({layout_.numel()}, parameters_.front().options().requires_grad(false));
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor place = place_in(flat_, i);
    place.copy_(parameters_[i]);
    parameters_[i].set_data(place);
  }
  part_ = own_part(flat_);
  if (zero_ == 3) {
    part_ = part_.clone();
    drop();
  }
  make_pieces();
  missing_ = parameters_.size();
}

Tensor FsdpUnit::place_in(const Tensor& flat, size_t parameter) const {
  const Tensor& like = parameters_[parameter];
  return flat.narrow(0, layout_.offset(parameter), like.numel()).view(like.sizes());
}

Tensor FsdpUnit::own_part(const Tensor& flat) const {
  return flat.narrow(0, ranks_.sharers->rank() * layout_.part_numel(), layout_.part_numel());
}

void FsdpUnit::make_pieces() {
  ranges_ = layout_.pieces(ranks_.sharers->rank());
  for (const FlatParameter::Piece& piece : ranges_) {
    pieces_.insert(names_[piece.parameter], part_.narrow(0, piece.in_part, piece.length));
  }
}

void FsdpUnit::listen(MemoryTags* tags) {
  tags_ = tags;
  tag(tags_, Category::kParameters, flat_, name_);
  tag(tags_, Category::kParameters, part_, name_);
  tag(tags_, Category::kGradients, gradients_, name_);
  tag(tags_, Category::kGradients, sum_, name_);
}

void FsdpUnit::fetch() {
  if (std::exchange(is_there_, true)) return;
  const c10::OptionalDeviceGuard device(flat_.device());
  c10::StorageImpl& storage = *flat_.storage().unsafeGetStorageImpl();
  c10::Allocator* const allocator = c10::GetAllocator(flat_.device().type());
  storage.set_data_ptr_noswap(allocator->allocate(storage.nbytes()));
  tag(tags_, Category::kParameters, flat_, name_);
  gathering_ = ranks_.sharers->all_gather(flat_, part_);
}

void FsdpUnit::wait() { wait_for(gathering_); }

void FsdpUnit::drop() {
  if (zero_ < 3 || !std::exchange(is_there_, false)) return;
  wait();
  flat_.storage().unsafeGetStorageImpl()->set_data_ptr_noswap(
      c10::DataPtr(nullptr, flat_.device()));
}

bool FsdpUnit::take(size_t parameter) {
  // Settles the previous backward's sum, if no other unit has since.
  if (missing_ == parameters_.size()) settle();
  Tensor& gradient = parameters_[parameter].mutable_grad();
  if (!gradients_.defined()) {
    gradients_ = torch::zeros_like(flat_);
    tag(tags_, Category::kGradients, gradients_, name_);
  }
  const Tensor place = place_in(gradients_, parameter);
  if (!gradient.is_alias_of(place)) place.copy_(gradient);
  // autograd adds later micro-batches' gradients to it.
  gradient = sends_ ? Tensor() : place;
  if (--missing_ > 0) return false;
  missing_ = parameters_.size();
  return sends_;
}

void FsdpUnit::begin_sums(const std::vector<FsdpUnit*>& units) {
  std::vector<Tensor> own;
  std::vector<Tensor> whole;
  for (FsdpUnit* unit : units) {
    const Tensor& gradients = unit->gradients_;
    TORCH_CHECK(gradients.defined(), "parameters of ", unit->name_, " have no gradient to add up");
    unit->summing_ = unit->zero_ == 1
                         ? unit->own_part(gradients)
                         : torch::empty({unit->layout_.part_numel()}, gradients.options());
    tag(unit->tags_, Category::kGradients, unit->summing_, unit->name_);
    own.push_back(unit->summing_);
    whole.push_back(gradients);
    unit->sum_is_last_ = unit->is_last_;
  }
  const auto sum =
      std::make_shared<RankGroup::Work>(units.front()->ranks_.sharers->reduce_scatter(own, whole));
  for (FsdpUnit* unit : units) unit->adding_up_ = sum;
}

void FsdpUnit::settle() {
  if (!adding_up_) return;
  wait_for(*std::exchange(adding_up_, nullptr));
  if (zero_ > 1) gradients_ = Tensor();
  if (sink_) return give();
  if (sum_.defined()) {
    sum_.add_(summing_);
  } else {
    sum_ = summing_;
  }
  summing_ = Tensor();
  if (sum_is_last_ && ranks_.copies) adding_up_copies_ = ranks_.copies->all_reduce({sum_});
}

// The pieces own what remains of the sum and free it.
void FsdpUnit::give() {
  set_gradients(std::exchange(summing_, Tensor()));
  has_given_ = true;
  for (size_t i = 0; i < ranges_.size(); ++i) sink_(i);
}

void FsdpUnit::set_gradients(const Tensor& sum) {
  for (size_t i = 0; i < ranges_.size(); ++i) {
    pieces_[i].value().mutable_grad() = sum.narrow(0, ranges_[i].in_part, ranges_[i].length);
  }
}

void FsdpUnit::give_gradients() {
  settle();
  wait_for(adding_up_copies_);
  TORCH_CHECK(missing_ == parameters_.size() && (sum_.defined() || has_given_), "parameters of ",
              name_, " have no gradient to add to the other replicas'");
  if (sink_) return;
  sum_.mul_(1.0 / static_cast<double>(ranks_.replicas()));
  set_gradients(sum_);
}

void FsdpUnit::free_gradients() {
  if (adding_up_) wait_for(*std::exchange(adding_up_, nullptr));
  wait_for(adding_up_copies_);
  for (auto& piece : pieces_) piece.value().mutable_grad() = Tensor();
  gradients_ = sum_ = summing_ = Tensor();
  has_given_ = false;
  missing_ = parameters_.size();
}

void FsdpUnit::gather_updates() {
  if (zero_ == 3) return;
  gathering_ = ranks_.sharers->all_gather(flat_, part_);
}

NamedTensors FsdpUnit::whole(const std::vector<Tensor>& own, torch::Dtype dtype) const {
  TORCH_CHECK(own.size() == pieces_.size(), "a part of ", name_, " is missing");
  const torch::NoGradGuard no_grad;
  const auto options = part_.options().dtype(dtype);
  Tensor part = torch::zeros({layout_.part_numel()}, options);
  for (size_t i = 0; i < ranges_.size(); ++i) {
    part.narrow(0, ranges_[i].in_part, ranges_[i].length).copy_(own[i]);
  }
  Tensor flat = torch::empty({layout_.numel()}, options);
  ranks_.sharers->all_gather(flat, part)->wait();
  NamedTensors whole;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    whole.insert(names_[i], place_in(flat, i).to(torch::kCPU, /*non_blocking=*/false,
                                                 /*copy=*/true));
  }
  return whole;
}

}  // namespace headroom
