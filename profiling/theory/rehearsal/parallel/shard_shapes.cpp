#include "profiling/theory/rehearsal/parallel/shard_shapes.h"

#include <algorithm>
#include <utility>

#include "profiling/theory/rehearsal/resident_shapes.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {

ShardShapes::ShardShapes(Run& run, const RunSpec& spec, int64_t rank)
    : ResidentBlocks(spec.reshard_after_forward == Reshard::kNever),
      run_(run),
      zero_(spec.zero),
      parts_(spec.mesh.size(MeshAxis::kData)),
      part_(spec.mesh.place(rank, MeshAxis::kData)) {}

UnitShapes* ShardShapes::share(const std::vector<Parameter*>& parameters) {
  if (parameters.empty()) return nullptr;
  units_.push_back(std::make_unique<UnitShapes>(parameters, zero_, parts_, part_));
  return units_.back().get();
}

void ShardShapes::take_block(const std::vector<Parameter*>& block) {
  blocks_.push_back(share(block));
  add();
}

void ShardShapes::take_rest(const std::vector<Parameter*>& table,
                            const std::vector<Parameter*>& head) {
  table_ = share(table);
  if (table_ != nullptr) std::rotate(units_.begin(), units_.end() - 1, units_.end());
  head_ = share(head);
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

ShapeTensor ShardShapes::run(int64_t index, const ShapeTensor& x_BSD,
                             const std::function<ShapeTensor(const ShapeTensor&)>& block) {
  if (zero_ < 3) return block(x_BSD);
  const bool is_last = !in_backward() && index + 1 == count();
  if (!in_backward() && index == 0 && table_ != nullptr) table_->drop();
  if (is_last && head_ != nullptr) head_->fetch();
  return run_resident(*this, run_, index, x_BSD, block);
}

void ShardShapes::give_to(const std::function<void(Parameter&)>& taker) {
  gives_ = true;
  for (const auto& unit : units_) unit->give_to(taker);
}

void ShardShapes::begin_step() {
  adding_up_ = nullptr;
  for (const auto& unit : units_) unit->free_gradients();
  if (zero_ < 3) return;
  ResidentBlocks::begin_step();
  for (UnitShapes* unit : {table_, head_}) {
    if (unit != nullptr) unit->drop();
  }
}

void ShardShapes::begin_forward() {
  if (zero_ == 3 && table_ != nullptr) table_->fetch();
}

void ShardShapes::begin_backward(bool last) {
  for (const auto& unit : units_) unit->begin_backward(last || zero_ > 1);
}

void ShardShapes::completed(UnitShapes& unit, size_t parameter) {
  if (!unit.take(parameter)) return;
  if (&unit == head_) head_->drop();
  UnitShapes* const before = std::exchange(adding_up_, &unit);
  if (before != nullptr && before != &unit) before->settle();
}

void ShardShapes::end_backward() {
  if (!gives_) return;
  if (UnitShapes* last = std::exchange(adding_up_, nullptr)) last->settle();
}

void ShardShapes::finish() {
  adding_up_ = nullptr;
  for (const auto& unit : units_) unit->give_gradients();
}

}  // namespace headroom
