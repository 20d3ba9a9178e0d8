#include "profiling/theory/rehearsal/parallel/unit_shapes.h"

#include <string>
#include <utility>

#include "profiling/theory/rehearsal/parallel/moved_shapes.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

std::vector<int64_t> numels_of(const std::vector<Parameter*>& parameters) {
  std::vector<int64_t> numels;
  numels.reserve(parameters.size());
  for (const Parameter* parameter : parameters) numels.push_back(parameter->value.elements());
  return numels;
}

// A part of a flat tensor, of these sizes.
ShapeTensor part_of_flat(const ShapeTensor& flat, const Dims& sizes) {
  ShapeTensor part = flat.detach();
  part.sizes = sizes;
  part.strides = contiguous_strides(sizes);
  part.is_view = true;
  return part;
}

}  // namespace

UnitShapes::UnitShapes(const char* name, std::vector<Parameter*> parameters, int64_t zero,
                       int64_t parts, int64_t part, bool has_copies)
    : name_(name),
      parameters_(std::move(parameters)),
      run_(*parameters_.front()->value.run),
      dtype_(parameters_.front()->value.dtype),
      zero_(zero),
      has_copies_(has_copies),
      layout_(numels_of(parameters_), parts) {
  flat_ = flat(layout_.numel(), kParameters);
  for (Parameter* parameter : parameters_) parameter->value.storage = flat_.storage;
  part_ = part_of_flat(flat_, {layout_.part_numel()});
  if (zero_ == 3) {
    part_ = flat(layout_.part_numel(), kParameters);
    drop();
  }
  for (const FlatParameter::Piece& range : layout_.pieces(part)) {
    const Parameter& of = *parameters_[range.parameter];
    Parameter& piece = pieces_.emplace_back();
    piece.name = of.name;
    piece.value = part_of_flat(part_, {range.length});
    piece.whole_elements = of.value.elements();
  }
  missing_ = parameters_.size();
}

ShapeTensor UnitShapes::flat(int64_t elements, const char* group) const {
  const char* const was = std::exchange(run_.memory.group, group);
  ShapeTensor made = empty(run_, {elements}, dtype_);
  run_.memory.group = was;
  return made;
}

std::vector<Parameter*> UnitShapes::pieces() {
  std::vector<Parameter*> all;
  for (Parameter& piece : pieces_) all.push_back(&piece);
  return all;
}

void UnitShapes::fetch() {
  if (std::exchange(is_there_, true)) return;
  flat_.storage->come_back();
  count(Collective::kAllGather, "weights");
}

void UnitShapes::drop() {
  if (zero_ == 3 && std::exchange(is_there_, false)) flat_.storage->leave();
}

bool UnitShapes::take(size_t parameter) {
  if (missing_ == parameters_.size()) settle();
  if (!gradients_.defined()) gradients_ = flat(layout_.numel(), kGradients);
  Parameter& own = *parameters_[parameter];
  own.gradient = sends_ ? ShapeTensor() : part_of_flat(gradients_, own.value.sizes);
  if (--missing_ > 0) return false;
  missing_ = parameters_.size();
  return sends_;
}

void UnitShapes::begin_sum() {
  summing_ = zero_ == 1 ? part_of_flat(gradients_, {layout_.part_numel()})
                        : flat(layout_.part_numel(), kGradients);
  count(Collective::kReduceScatter, "gradients");
  adding_up_ = true;
}

void UnitShapes::settle() {
  if (!std::exchange(adding_up_, false)) return;
  if (zero_ > 1) gradients_ = {};
  if (sink_) {
    set_gradients(std::exchange(summing_, ShapeTensor()));
    for (Parameter& piece : pieces_) sink_(piece);
    return;
  }
  if (!sum_.defined()) sum_ = summing_;
  summing_ = {};
}

void UnitShapes::set_gradients(const ShapeTensor& sum) {
  for (Parameter& piece : pieces_) piece.gradient = part_of_flat(sum, piece.value.sizes);
}

void UnitShapes::give_gradients() {
  settle();
  if (has_copies_) {
    count_moved(run_, {MeshAxis::kData, Collective::kAllReduce, /*between_copies=*/true},
                std::string("gradients of a part: ") + name_, "P", {layout_.part_numel()}, dtype_);
  }
  if (!sink_) set_gradients(sum_);
}

void UnitShapes::gather_updates() {
  if (zero_ < 3) count(Collective::kAllGather, "new weights");
}

// R replicas, each with P elements of it.
void UnitShapes::count(Collective kind, const char* what) const {
  const int64_t part = layout_.part_numel();
  count_moved(run_, {MeshAxis::kData, kind}, std::string(what) + " of a unit: " + name_, "R*P",
              {layout_.numel() / part, part}, dtype_);
}

void UnitShapes::free_gradients() {
  for (Parameter& piece : pieces_) piece.gradient = {};
  gradients_ = sum_ = summing_ = {};
  adding_up_ = false;
  missing_ = parameters_.size();
}

}  // namespace headroom
