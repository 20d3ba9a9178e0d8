#include "profiling/theory/rehearsal/parallel/shard_shapes.h"

#include <algorithm>
#include <utility>

#include "profiling/theory/rehearsal/offload/resident_shapes.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/parallel/data/shard_groups.h"

namespace headroom {

ShardShapes::ShardShapes(Run& run, const RunSpec& spec, int64_t rank)
    : BlockPrefetcher(spec.reshard_after_forward == Reshard::kNever, spec.prefetch),
      run_(run),
      zero_(spec.zero) {
  const ShardGroups groups(spec.mesh, spec.shard_group);
  parts_ = groups.size();
  part_ = groups.part(rank);
  has_copies_ = groups.groups() > 1;
}

UnitShapes* ShardShapes::share(const char* name, const std::vector<Parameter*>& parameters) {
  if (parameters.empty()) return nullptr;
  units_.push_back(
      std::make_unique<UnitShapes>(name, parameters, zero_, parts_, part_, has_copies_));
  return units_.back().get();
}

void ShardShapes::take_block(const std::vector<Parameter*>& block) {
  blocks_.push_back(share("block", block));
  add();
}

void ShardShapes::take_rest(const std::vector<Parameter*>& table,
                            const std::vector<Parameter*>& head) {
  table_ = share("token table", table);
  if (table_ != nullptr) std::rotate(units_.begin(), units_.end() - 1, units_.end());
  head_ = share("head", head);
  if (table_ != nullptr && !blocks_.empty()) with_table_ = blocks_.front();
  for (const auto& unit : units_) {
    UnitShapes* const own = unit.get();
    for (size_t i = 0; i < own->parameters().size(); ++i) {
      own->parameters()[i]->when_accumulated = [this, own, i] { completed(*own, i); };
    }
  }
}

std::vector<Parameter*> ShardShapes::pieces() {
  std::vector<Parameter*> all;
  for (const auto& unit : units_) {
    const std::vector<Parameter*> own = unit->pieces();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

ShardShapes::Cuts ShardShapes::cuts(int64_t part) const {
  Cuts cuts;
  Cuts before;
  for (const auto& unit : units_) {
    Cuts own;
    for (const FlatParameter::Piece& piece : unit->layout().pieces(part)) {
      own.emplace_back(piece.parameter, piece.length);
    }
    if (own == before) continue;
    cuts.insert(cuts.end(), own.begin(), own.end());
    cuts.emplace_back(unit->parameters().size(), 0);  // where a unit ends
    before = std::move(own);
  }
  return cuts;
}

void ShardShapes::wait_for(int64_t index) {
  if (in_backward() && index + 1 == count() && head_ != nullptr) head_->drop();
}

ShapeTensor ShardShapes::run(int64_t index, const ShapeTensor& x_BSD,
                             const std::function<ShapeTensor(const ShapeTensor&)>& block) {
  if (zero_ < 3) return block(x_BSD);
  if (!in_backward() && index == 0 && table_ != nullptr) table_->drop();
  if (!in_backward() && is_last(index)) settle_sums();
  const bool head_follows = !in_backward() && index + 1 == count() && head_ != nullptr;
  if (head_follows && ahead() > 0) head_->fetch();
  ShapeTensor y_BSD = run_resident(*this, run_, index, x_BSD, block);
  if (head_follows) head_->fetch();
  return y_BSD;
}

void ShardShapes::send_to(const std::function<void(Parameter&)>& sink) {
  gives_ = true;
  for (const auto& unit : units_) unit->send_to(sink);
}

void ShardShapes::begin_step() {
  adding_up_.clear();
  for (const auto& unit : units_) unit->free_gradients();
  if (zero_ < 3) return;
  BlockPrefetcher::begin_step();
  for (UnitShapes* unit : {table_, head_}) {
    if (unit != nullptr) unit->drop();
  }
}

void ShardShapes::begin_forward() {
  if (zero_ == 3 && table_ != nullptr) table_->fetch();
}

void ShardShapes::settle_sums() {
  for (UnitShapes* one : std::exchange(adding_up_, {})) one->settle();
}

void ShardShapes::begin_backward(bool last) {
  settle_sums();
  for (const auto& unit : units_) unit->begin_backward(last || zero_ > 1);
}

void ShardShapes::begin_backward_of_loss() {
  if (head_ != nullptr) head_->fetch();
}

void ShardShapes::completed(UnitShapes& unit, size_t parameter) {
  if (!unit.take(parameter)) return;
  if (&unit == head_) head_->drop();
  const std::vector<UnitShapes*> before = std::exchange(adding_up_, {});
  if (&unit != with_table_) {
    if (&unit == table_ && with_table_ != nullptr) adding_up_.push_back(with_table_);
    adding_up_.push_back(&unit);
    for (UnitShapes* one : adding_up_) one->begin_sum();
  }
  for (UnitShapes* one : before) {
    if (one != &unit) one->settle();
  }
}

void ShardShapes::end_backward() {
  if (gives_) settle_sums();
}

void ShardShapes::finish() {
  adding_up_.clear();
  for (const auto& unit : units_) unit->give_gradients();
}

void ShardShapes::end_update() {
  for (const auto& unit : units_) unit->gather_updates();
}

}  // namespace headroom
