// The batches of a run: random tokens, or windows of a token file.
#pragma once

#include <memory>

#include "model/torch.h"
#include "train/data/token_file.h"
#include "train/settings/spec.h"

namespace headroom {

struct Batch {
  torch::Tensor tokens_BS;   // int64 on the device
  torch::Tensor targets_BS;  // int64 on the device; undefined without prediction
};

class Data {
 public:
  // Throws UsageError if the token file cannot serve `steps` steps.
  // replica: its index in the spec's mesh; replicas' sequences are in that order.
  Data(const RunSpec& spec, int64_t vocab_size, torch::Device device, int64_t steps,
       int64_t replica = 0);

  // The batch of step k. Random tokens depend only on (seed, k); file windows as in TokenFile.
  Batch batch(int64_t step) const;

 private:
  int64_t replicas_, replica_;
  int64_t batch_size_, context_length_, vocab_size_, seed_;  // context: a prompt if generating
  bool has_targets_;
  torch::Device device_;
  std::unique_ptr<TokenFile> file_;
};

}  // namespace headroom
