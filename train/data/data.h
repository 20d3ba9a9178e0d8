// The batches of a run: random tokens, or windows of a token file.
#pragma once

#include <memory>

#include "model/torch.h"
#include "train/data/token_file.h"
#include "train/spec.h"

namespace headroom {

struct Batch {
  torch::Tensor tokens_BS;   // int64 on the device
  torch::Tensor targets_BS;  // int64 on the device; undefined where nothing is predicted
};

class Data {
 public:
  // Throws UsageError when the token file cannot serve `steps` steps.
  // replica: which of the spec's mesh; its sequences stand behind those of the ones before it.
  Data(const RunSpec& spec, int64_t vocab_size, torch::Device device, int64_t steps,
       int64_t replica = 0);

  // The batch of step k. Random tokens depend on (seed, k) alone; file windows as in TokenFile.
  Batch batch(int64_t step) const;

 private:
  int64_t replicas_, replica_;
  int64_t batch_size_, context_length_, vocab_size_, seed_;  // a prompt is the context of these
  bool has_targets_;
  torch::Device device_;
  std::unique_ptr<TokenFile> file_;
};

}  // namespace headroom
