#include "train/kernels/compiled_region.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "train/kernels/compiled_library.h"

namespace headroom {

using torch::Tensor;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

namespace {

using Sizes = std::vector<int64_t>;

// The place where backward finds a tensor: an output of forward, or a view of an input.
struct SavedPlace {
  bool is_input = false;
  bool is_activation = false;  // an output that techniques of saved tensors may transform
  size_t index = 0;
  Sizes shape, strides;
  int64_t offset = 0;
};

nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  nlohmann::json read = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (read.is_discarded()) throw std::runtime_error(path + " is no description of a region");
  return read;
}

std::vector<SavedPlace> places_of(const nlohmann::json& saved) {
  std::vector<SavedPlace> places;
  for (const nlohmann::json& one : saved) {
    SavedPlace& place = places.emplace_back();
    place.is_input = one.contains("input");
    one.at(place.is_input ? "input" : "output").get_to(place.index);
    one.at("shape").get_to(place.shape);
    one.at("strides").get_to(place.strides);
    if (place.is_input) {
      one.at("offset").get_to(place.offset);
    } else {
      one.at("is_activation").get_to(place.is_activation);
    }
  }
  return places;
}

}  // namespace

struct CompiledRegion::Parts {
  std::vector<std::string> inputs;
  std::vector<Sizes> shapes;      // of the inputs
  std::vector<SavedPlace> saved;  // what backward takes before the output's gradient
  std::vector<size_t> gradients;  // inputs that backward returns gradients of
  std::unique_ptr<const CompiledLibrary> forward, backward;
};

namespace {

using Parts = CompiledRegion::Parts;

class RegionBackward final : public torch::autograd::Node {
 public:
  RegionBackward(std::shared_ptr<const Parts> parts, torch::autograd::edge_list&& edges)
      : Node(std::move(edges)), parts_(std::move(parts)) {}

  // Saves the inputs that backward reads, each once, and the outputs of forward after the first.
  void save(const variable_list& inputs, variable_list&& outputs) {
    inputs_.resize(inputs.size());
    std::vector<bool> is_saved(inputs.size());
    for (const SavedPlace& place : parts_->saved) {
      if (!place.is_input) {
        const Tensor output = std::exchange(outputs[place.index], Tensor());
        TORCH_CHECK(output.sizes() == place.shape && output.strides() == place.strides,
                    "a compiled region returned ", output.sizes(), " with strides ",
                    output.strides(), ", and its backward takes ", place.shape, " with strides ",
                    place.strides);
        // The output gets a node of the graph, because a tensor without one counts as a parameter
        // for the techniques of saved tensors.
        if (place.is_activation) {
          torch::autograd::impl::set_gradient_edge(output, {getptr(), 0});
        }
        outputs_.emplace_back(output, /*is_output=*/place.is_activation);
      } else if (!is_saved[place.index]) {
        inputs_[place.index] = SavedVariable(inputs[place.index], /*is_output=*/false);
        is_saved[place.index] = true;
      }
    }
  }

  variable_list apply(variable_list&& gradients) override {
    const std::scoped_lock lock(mutex_);
    // `gradients` lives until the end, as in torch.compile, whose Python function holds it.
    variable_list taken = unpacked();
    taken.push_back(gradients[0].contiguous());
    variable_list made = parts_->backward->run(std::move(taken));
    variable_list of_inputs(parts_->inputs.size());
    for (size_t i = 0; i < made.size(); ++i) of_inputs[parts_->gradients[i]] = std::move(made[i]);
    return of_inputs;
  }

  void release_variables() override {
    const std::scoped_lock lock(mutex_);
    inputs_.clear();
    outputs_.clear();
  }

  std::string name() const override { return "RegionBackward"; }

 private:
  // Unpacks the saved tensors and drops them here, so that the backward library frees each one
  // after its last use.
  variable_list unpacked() {
    TORCH_CHECK(!inputs_.empty(), "a compiled region keeps its tensors for one backward");
    variable_list of_inputs(inputs_.size());
    variable_list taken;
    for (const SavedPlace& place : parts_->saved) {
      if (!place.is_input) {
        taken.push_back(std::exchange(outputs_[place.index - 1], {}).unpack(getptr()).detach());
        continue;
      }
      Tensor& input = of_inputs[place.index];
      if (!input.defined()) input = inputs_[place.index].unpack().detach();
      const bool is_whole = input.sizes() == place.shape && input.strides() == place.strides;
      taken.push_back(is_whole ? input
                               : input.as_strided(place.shape, place.strides,
                                                  input.storage_offset() + place.offset));
    }
    inputs_.clear();
    outputs_.clear();
    return taken;
  }

  std::shared_ptr<const Parts> parts_;
  std::vector<SavedVariable> inputs_, outputs_;
};

}  // namespace

CompiledRegion::CompiledRegion(const std::string& folder, torch::Device device) {
  const nlohmann::json described = read_json(folder + "/region.json");
  auto parts = std::make_shared<Parts>();
  described.at("inputs").get_to(parts->inputs);
  described.at("shapes").get_to(parts->shapes);
  described.at("gradients").get_to(parts->gradients);
  parts->saved = places_of(described.at("saved"));
  parts->forward = std::make_unique<CompiledLibrary>(folder + "/forward.so", device);
  parts->backward = std::make_unique<CompiledLibrary>(folder + "/backward.so", device);
  parts_ = std::move(parts);
}

CompiledRegion::~CompiledRegion() = default;

const std::vector<std::string>& CompiledRegion::inputs() const { return parts_->inputs; }

Tensor CompiledRegion::run(std::vector<Tensor> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    TORCH_CHECK(inputs[i].sizes() == parts_->shapes[i] && inputs[i].is_contiguous(),
                parts_->inputs[i], " is ", inputs[i].sizes(), " with strides ", inputs[i].strides(),
                ", and the region was compiled for contiguous ", parts_->shapes[i]);
    // torch.compile copies such inputs too.
    if (!is_aligned(inputs[i])) inputs[i] = inputs[i].clone();
  }
  variable_list outputs = parts_->forward->run(variable_list(inputs));
  Tensor result = outputs[0];
  if (!torch::autograd::compute_requires_grad(inputs)) return result;
  const std::shared_ptr<RegionBackward> node(
      new RegionBackward(parts_, torch::autograd::collect_next_edges(inputs)),
      torch::autograd::deleteNode);
  torch::autograd::set_history(result, node);
  node->save(inputs, std::move(outputs));
  return result;
}

}  // namespace headroom
