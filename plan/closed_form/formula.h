// The closed forms of the project's seed document (memory_timeline.py), figure for figure.
// No torch here.
//
// They are kept to be compared with: whole models in GB of 10^9 bytes, nothing divided over GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct SeedModel {
  std::string name;            // "70b"
  double params_billions = 0;  // as the name says
  int64_t hidden = 0, layers = 0;
};
const std::vector<SeedModel>& seed_models();

// Throws UsageError: the document has four models.
const SeedModel& find_seed_model(std::string_view name);

struct SeedComponent {
  std::string name;
  double gigabytes = 0;
};

// phase: "generation", "scoring", "training", "full_rlhf".
std::vector<SeedComponent> seed_phase(const SeedModel& model, int64_t batch, int64_t seq_len,
                                      std::string_view phase);
double total(const std::vector<SeedComponent>& components);

double seed_kv_cache(const SeedModel& model, int64_t batch, int64_t seq_len);     // GB
double seed_activations(const SeedModel& model, int64_t batch, int64_t seq_len);  // GB

// GB per GPU under a ZeRO stage: weights, gradients and optimizer of so many bytes per parameter.
// The other seed document's table has 2, 2 and 4.
struct StateRule {
  double weight = 2, gradient = 2, optimizer = 4;
};
double zero_gigabytes(double params_billions, const StateRule& rule, int64_t stage, int64_t gpus);

}  // namespace headroom
