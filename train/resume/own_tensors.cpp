#include "train/resume/own_tensors.h"

#include <algorithm>

#include "train/optim/optimizer.h"
#include "train/parallel/data/fully_sharded.h"

namespace headroom {
namespace {

using torch::Tensor;

// The place of one updated tensor.
struct Place {
  std::string name;               // the parameter's
  std::vector<int64_t> shape;     // of the whole tensor
  Rectangle box;                  // the part of this rank's ZeRO group
  int64_t begin = 0, length = 0;  // elements of the box
  int64_t tp_place = 0, tp = 1;   // among the ranks with a box each
  int64_t largest = 0;            // elements of the largest box
  bool is_copy = false;
};

// For tp ranks that split a tensor, or all have the whole.
void share(const TensorParallel& tensors, const Tensor& own, Place* place) {
  const int64_t rank = tensors.ranks().rank();
  if (tensors.is_whole(place->name)) {
    place->is_copy = place->is_copy || rank > 0;
    return;
  }
  place->shape = tensors.whole_sizes(place->name, own);
  place->box.offsets = tensors.offsets(place->name, own);
  place->tp_place = rank;
  place->tp = tensors.ranks().size();
  const auto cut = static_cast<size_t>(
      std::mismatch(place->shape.begin(), place->shape.end(), place->box.sizes.begin()).first -
      place->shape.begin());
  const int64_t along = place->shape[cut];
  place->largest = whole_of(place->shape).numel() / along * part_of(along, place->tp, 0).length;
}

std::vector<Place> places_of(const Step& step, const RunSpec& spec, const DeviceMesh* device_mesh) {
  const bool is_copy = !saves(spec, device_mesh);
  std::vector<Place> places;
  const auto add = [&](const std::string& name, const Tensor& own, int64_t begin, int64_t length) {
    Place place;
    place.name = name;
    place.begin = begin;
    place.length = length;
    place.is_copy = is_copy;
    place.shape = own.sizes().vec();
    place.box = whole_of(place.shape);
    place.largest = own.numel();
    if (step.layout.tensors) share(*step.layout.tensors, own, &place);
    places.push_back(std::move(place));
  };
  const NamedTensors parameters = step.model()->named_parameters();
  const auto& fully_sharded = step.layout.fully_sharded;
  if (!fully_sharded) {
    for (const auto& item : parameters) add(item.key(), item.value(), 0, item.value().numel());
    return places;
  }
  const std::vector<FlatParameter::Piece> ranges = fully_sharded->ranges();
  const std::vector<std::string> names = fully_sharded->pieces().keys();
  for (size_t i = 0; i < names.size(); ++i) {
    add(names[i], parameters[names[i]], ranges[i].begin, ranges[i].length);
  }
  return places;
}

// Scales of the whole tensor: a row per rank with a box, for that box's blocks.
void place_scales(const Place& place, OwnTensor& own) {
  const auto blocks = [](int64_t elements) { return (elements + k8BitBlock - 1) / k8BitBlock; };
  own.shape = {place.tp, blocks(place.largest)};
  own.parts = {{{place.tp_place, place.begin / k8BitBlock}, {1, own.tensor.numel()}}};
}

OwnTensor own_tensor(const Place& place, const std::string& prefix, const Tensor& tensor) {
  return {.name = prefix + place.name,
          .shape = place.shape,
          .parts = rectangles_of(place.box, place.begin, place.length),
          .tensor = tensor,
          .is_copy = place.is_copy};
}

// `first`: the place of the optimizer's first parameter.
void add_states(const Optimizer& optimizer, const RunSpec& spec, const std::vector<Place>& places,
                size_t first, std::vector<OwnTensor>* all) {
  const std::vector<Tensor> state = optimizer.state();
  const size_t count = optimizer.parameters().size();
  if (state.empty()) return;  // before the first update
  size_t next = 0;
  for (const OptimizerState& row : info_of(spec.optimizer).state) {
    if (row.only && *row.only != spec.optimizer_impl) continue;
    const size_t begin = next;
    next += count;
    // Skips the number of updates, and constants.
    if (row.form == StateForm::kScalar || row.form == StateForm::kMaps) continue;
    TORCH_CHECK(next <= state.size(), "no ", row.name, " of every parameter");
    for (size_t i = 0; i < count; ++i) {
      const Tensor& tensor = state[begin + i];
      if (tensor.numel() == 0) continue;
      OwnTensor own =
          own_tensor(places[first + i], std::string("optimizer.") + row.name + ".", tensor);
      if (row.form == StateForm::k8BitScale) place_scales(places[first + i], own);
      if (row.form == StateForm::kOfBlock) {
        own.shape = tensor.sizes().vec();
        own.parts = {whole_of(own.shape)};
      }
      all->push_back(std::move(own));
    }
  }
}

}  // namespace

int64_t sharing_replicas(const RunSpec& spec) {
  if (spec.zero == 0) return 1;
  const int64_t all = spec.mesh.size(MeshAxis::kData);
  return spec.shard_group > 0 ? std::min(spec.shard_group, all) : all;
}

bool saves(const RunSpec& spec, const DeviceMesh* device_mesh) {
  return device_mesh == nullptr || device_mesh->place(MeshAxis::kData) < sharing_replicas(spec);
}

std::string safetensors_dtype(torch::Dtype dtype) {
  if (dtype == torch::kBFloat16) return "BF16";
  if (dtype == torch::kByte) return "U8";
  TORCH_CHECK(dtype == torch::kFloat32, "a checkpoint has no tensors of ", dtype);
  return "F32";
}

std::vector<OwnTensor> own_tensors(const Step& step, const RunSpec& spec,
                                   const DeviceMesh* device_mesh) {
  const std::vector<Place> places = places_of(step, spec, device_mesh);
  std::vector<OwnTensor> all;
  size_t first = 0;
  for (const Optimizer* optimizer : step.update->optimizers()) {
    const std::vector<Tensor> masters = optimizer->master_weights();
    const std::vector<Tensor>& updated = masters.empty() ? optimizer->parameters() : masters;
    TORCH_CHECK(first + updated.size() <= places.size(), "an optimizer of other parameters");
    for (size_t i = 0; i < updated.size(); ++i) {
      all.push_back(own_tensor(places[first + i], "", updated[i].detach()));
    }
    add_states(*optimizer, spec, places, first, &all);
    first += updated.size();
  }
  return all;
}

}  // namespace headroom
