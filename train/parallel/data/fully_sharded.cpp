#include "train/parallel/data/fully_sharded.h"

#include <algorithm>
#include <utility>

#include "model/parameter_table.h"
#include "train/offload/blocks/prefetching_runner.h"

namespace headroom {

using torch::Tensor;

namespace {

NamedTensors with_prefix(const std::string& prefix, const NamedTensors& parameters) {
  NamedTensors named;
  for (const auto& item : parameters) named.insert(prefix + item.key(), item.value());
  return named;
}

}  // namespace

FullySharded::FullySharded(int64_t zero, Reshard reshard_after_forward, int64_t prefetch,
                           SharingRanks ranks)
    : BlockPrefetcher(reshard_after_forward == Reshard::kNever, prefetch),
      zero_(zero),
      ranks_(std::move(ranks)) {}

FsdpUnit* FullySharded::share(const std::string& name, const NamedTensors& parameters) {
  if (parameters.is_empty()) return nullptr;
  units_.push_back(std::make_unique<FsdpUnit>(name, parameters, zero_, ranks_));
  return units_.back().get();
}

void FullySharded::take(int64_t layer, TransformerBlock& block) {
  const std::string name = "layers." + std::to_string(layer);
  blocks_.push_back(share(name, with_prefix(name + ".", block->named_parameters())));
  add();
}

void FullySharded::take_rest(Transformer& model) {
  NamedTensors table;
  NamedTensors head;
  for (const auto& item : model->named_parameters()) {
    const ModelSection section = find_parameter(item.key())->section;
    if (section == ModelSection::kBlock) continue;
    (section == ModelSection::kEmbedding ? table : head).insert(item.key(), item.value());
  }
  table_ = share("token_embeddings", table);
  if (table_ != nullptr) std::rotate(units_.begin(), units_.end() - 1, units_.end());
  head_ = share("lm_head", head);
  is_tied_ = table_ != nullptr && head_ != nullptr && !head.contains("lm_head.weight");
  if (table_ != nullptr && !blocks_.empty()) with_table_ = blocks_.front();
  for (const auto& unit : units_) {
    FsdpUnit* const own = unit.get();
    hooks_.push_back(std::make_unique<GradientHooks>(
        unit->parameters(), [this, own](size_t parameter) { completed(*own, parameter); }));
  }
}

NamedTensors FullySharded::pieces() const {
  NamedTensors all;
  for (const auto& unit : units_) all.update(unit->pieces());
  return all;
}

std::vector<FlatParameter::Piece> FullySharded::ranges() const {
  std::vector<FlatParameter::Piece> all;
  for (const auto& unit : units_) {
    all.insert(all.end(), unit->ranges().begin(), unit->ranges().end());
  }
  return all;
}

std::vector<int64_t> FullySharded::whole_numels() const {
  std::vector<int64_t> numels;
  for (const auto& unit : units_) {
    for (const FlatParameter::Piece& piece : unit->ranges()) {
      numels.push_back(unit->parameters()[piece.parameter].numel());
    }
  }
  return numels;
}

NamedTensors FullySharded::cut(const NamedTensors& whole) const {
  NamedTensors cut;
  for (const auto& unit : units_) {
    for (size_t i = 0; i < unit->ranges().size(); ++i) {
      const std::string& name = unit->pieces()[i].key();
      const FlatParameter::Piece& piece = unit->ranges()[i];
      cut.insert(name, whole[name].reshape({-1}).narrow(0, piece.begin, piece.length));
    }
  }
  return cut;
}

void FullySharded::set(const NamedTensors& numbers) const {
  const NamedTensors own = cut(numbers);
  for (const auto& unit : units_) {
    for (size_t i = 0; zero_ < 3 && i < unit->parameters().size(); ++i) {
      Tensor parameter = unit->parameters()[i];
      parameter.copy_(numbers[unit->names()[i]]);
    }
    for (const auto& item : unit->pieces()) {
      Tensor piece = item.value();
      piece.copy_(own[item.key()]);
    }
  }
}

// Backward has reached the last block, so the head is no longer needed; its gradients may wait.
void FullySharded::wait_for(int64_t index) {
  if (in_backward() && index + 1 == count()) drop_head();
  block(index).wait();
}

void FullySharded::fetch_head() {
  if (head_ != nullptr) head_->fetch();
  if (is_tied_) table_->fetch();
}

void FullySharded::wait_for_head() {
  if (head_ != nullptr) head_->wait();
  if (is_tied_) table_->wait();
}

void FullySharded::drop_head() {
  if (head_ != nullptr) head_->drop();
  if (is_tied_) table_->drop();
}

BlockRunner FullySharded::around(BlockRunner inner) {
  if (zero_ < 3) return inner;
  return [this, run = with_prefetch(*this, std::move(inner))](
             int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    if (!in_backward() && index == 0 && table_ != nullptr) table_->drop();
    if (!in_backward() && is_last(index)) settle_sums();
    const bool head_follows = !in_backward() && index + 1 == count() && head_ != nullptr;
    if (head_follows && ahead() > 0) fetch_head();
    Tensor y_BSD = run(index, block, x_BSD);
    if (head_follows) {
      fetch_head();
      wait_for_head();
    }
    return y_BSD;
  };
}

void FullySharded::listen(ScopeListener* /*scopes*/, MemoryTags* tags) {
  for (const auto& unit : units_) unit->listen(tags);
}

void FullySharded::send_to(GradientSink& sink) {
  gives_ = true;
  size_t first = 0;
  for (const auto& unit : units_) {
    unit->send_to([&sink, first](size_t piece) { sink.give(first + piece); });
    first += unit->ranges().size();
  }
}

void FullySharded::begin_step() {
  adding_up_.clear();
  for (const auto& unit : units_) unit->free_gradients();
  if (zero_ < 3) return;
  BlockPrefetcher::begin_step();
  for (FsdpUnit* unit : {table_, head_}) {
    if (unit != nullptr) unit->drop();
  }
}

void FullySharded::begin_forward(const Task& task) {
  if (zero_ < 3 || table_ == nullptr || !task.is_first) return;
  table_->fetch();
  table_->wait();
}

// Waits for the last backward's sums: a forward's blocks ran meanwhile. Frees room for the head's
// weights and gradients.
void FullySharded::settle_sums() {
  for (FsdpUnit* one : std::exchange(adding_up_, {})) one->settle();
}

void FullySharded::begin_backward(const Task& task) {
  settle_sums();
  for (const auto& unit : units_) {
    unit->begin_backward(task.ends_step || zero_ > 1, task.ends_step);
  }
  // Other forwards and backwards may have run since the head's forward.
  if (!task.is_last) return;
  fetch_head();
  wait_for_head();
}

// At most two neighbouring units' gradients are on the card.
void FullySharded::completed(FsdpUnit& unit, size_t parameter) {
  if (!unit.take(parameter)) return;
  if (&unit == head_) drop_head();
  const std::vector<FsdpUnit*> before = std::exchange(adding_up_, {});
  if (&unit != with_table_) {
    if (&unit == table_ && with_table_ != nullptr) adding_up_.push_back(with_table_);
    adding_up_.push_back(&unit);
    FsdpUnit::begin_sums(adding_up_);
  }
  for (FsdpUnit* one : before) {
    if (one != &unit) one->settle();
  }
}

void FullySharded::end_backward(const Task& /*task*/) {
  if (gives_) settle_sums();
}

void FullySharded::gradients_ready() {
  const torch::NoGradGuard no_grad;
  adding_up_.clear();
  for (const auto& unit : units_) unit->give_gradients();
}

void FullySharded::end_update() {
  for (const auto& unit : units_) unit->gather_updates();
  for (const auto& unit : units_) unit->wait();
}

NamedTensors FullySharded::whole_weights(const std::vector<Tensor>& masters) const {
  NamedTensors all;
  auto next = masters.begin();
  for (const auto& unit : units_) {
    std::vector<Tensor> own = unit->pieces().values();
    if (!masters.empty()) {
      const auto end = next + static_cast<std::ptrdiff_t>(own.size());
      own = {std::exchange(next, end), end};
    }
    all.update(unit->whole(own, masters.empty() ? c10::typeMetaToScalarType(unit->options().dtype())
                                                : torch::kFloat32));
  }
  return all;
}

}  // namespace headroom
