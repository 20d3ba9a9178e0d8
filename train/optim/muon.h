// Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon; Liu et al. 2025, Muon is
// Scalable for LLM Training, arXiv 2502.16982) for the matrices of the blocks:
//   m  = b m + (1 - b) g          d = b m + (1 - b) g   (Nesterov)
//   o  = Newton-Schulz(d), five steps in BF16: d with its singular values moved to about 1
//   p -= lr * decay * p
//   p -= 0.2 sqrt(max(rows, columns)) lr * o            (the size of an update of AdamW)
// and AdamW for everything else: the token table, the output head, the norms. Both use the same
// learning rate and decay. Equals torch.optim.Muon with adjust_lr_fn="match_rms_adamw" to the bit.
// Four bytes of state per element of a matrix, eight for the rest.
#pragma once

#include <string>

#include "train/optim/optimizer.h"

namespace headroom {

struct MuonOptions {
  double learning_rate = 1e-3;
  double momentum = 0.95;
  double weight_decay = 0.01;
};

class Muon : public Optimizer {
 public:
  // names: the parameters', as in a state_dict; they determine which ones Muon updates.
  Muon(std::vector<torch::Tensor> parameters, const std::vector<std::string>& names,
       const MuonOptions& options);

  // momentum of each parameter, then m, then v; empty where its update has none.
  std::vector<torch::Tensor> state() const override;

 private:
  void update() override;
  void make_state(int64_t updates) override;
  void update_by_muon(size_t i);

  MuonOptions options_;
  std::vector<bool> by_muon_;
  std::vector<torch::Tensor> momentum_, m_, v_;
};

}  // namespace headroom
