#include "train/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "model/parameter_table.h"
#include "train/optim/adamw.h"

namespace headroom {

using torch::Tensor;

namespace {

// Approximates the nearest semi-orthogonal matrix: singular values of 0.7 to 1.2. BF16, in the
// shape of `direction`. The coefficients of Jordan et al. make small singular values grow fastest.
Tensor orthogonalized(Tensor direction) {
  constexpr double kA = 3.4445, kB = -4.775, kC = 2.0315, kEps = 1e-7;
  constexpr int kSteps = 5;
  const bool is_tall = direction.size(0) > direction.size(1);
  Tensor x = direction.to(torch::kBFloat16);
  direction = Tensor();
  if (is_tall) x = x.t();
  x.div_(x.norm().clamp(kEps));
  for (int step = 0; step < kSteps; ++step) {
    const Tensor gram = x.mm(x.t());
    const Tensor factor = torch::addmm(gram, gram, gram, kB, kC);
    x = torch::addmm(x, factor, x, kA);
  }
  return is_tall ? x.t() : x;
}

}  // namespace

Muon::Muon(std::vector<Tensor> parameters, const std::vector<std::string>& names,
           const MuonOptions& options)
    : Optimizer(std::move(parameters)), options_(options) {
  TORCH_CHECK(names.size() == parameters_.size(), "muon: ", names.size(), " names for ",
              parameters_.size(), " parameters");
  for (size_t i = 0; i < names.size(); ++i) {
    const ParameterEntry* const entry = find_parameter(names[i]);
    const bool is_hidden = entry != nullptr && entry->is_hidden_matrix();
    by_muon_.push_back(is_hidden && parameters_[i].dim() == 2);
  }
}

std::vector<Tensor> Muon::state() const {
  std::vector<Tensor> all = momentum_;
  all.insert(all.end(), m_.begin(), m_.end());
  all.insert(all.end(), v_.begin(), v_.end());
  return all;
}

void Muon::make_state(int64_t /*updates*/) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    const auto state = [&](bool has_it) {
      return has_it ? torch::zeros_like(p) : torch::empty({0}, p.options().requires_grad(false));
    };
    momentum_.push_back(state(by_muon_[i]));
    m_.push_back(state(!by_muon_[i]));
    v_.push_back(state(!by_muon_[i]));
  }
}

void Muon::update() {
  if (m_.empty()) make_state(0);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (by_muon_[i]) {
      update_by_muon(i);
    } else {
      adamw_in_place(
          parameters_[i], parameters_[i].grad(), m_[i], v_[i], updates(),
          {.learning_rate = options_.learning_rate, .weight_decay = options_.weight_decay});
    }
  }
}

void Muon::update_by_muon(size_t i) {
  Tensor& p = parameters_[i];
  const Tensor& g = p.grad();
  momentum_[i].lerp_(g, 1 - options_.momentum);
  const Tensor update = orthogonalized(torch::lerp(g, momentum_[i], options_.momentum));
  const double scale = 0.2 * std::sqrt(static_cast<double>(std::max(p.size(0), p.size(1))));
  p.mul_(1 - options_.learning_rate * options_.weight_decay);
  p.add_(update, -options_.learning_rate * scale);
}

}  // namespace headroom
