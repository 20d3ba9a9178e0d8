// The closed forms of the RLHF guide that this project began with (its memory_timeline.py), figure
// for figure. No torch here.
//
// They are kept for comparison: whole models in GB of 10^9 bytes, nothing divided over GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct ClosedFormModel {
  std::string name;            // "70b"
  double params_billions = 0;  // by its name
  int64_t hidden = 0, layers = 0;
};
const std::vector<ClosedFormModel>& closed_form_models();

// Throws UsageError: the guide has four models.
const ClosedFormModel& find_closed_form_model(std::string_view name);

struct ClosedFormComponent {
  std::string name;
  double gigabytes = 0;
};

// phase: "generation", "scoring", "training", "full_rlhf".
std::vector<ClosedFormComponent> closed_form_phase(const ClosedFormModel& model, int64_t batch,
                                                   int64_t seq_len, std::string_view phase);
double total_gigabytes(const std::vector<ClosedFormComponent>& components);

double closed_form_kv_cache(const ClosedFormModel& model, int64_t batch, int64_t seq_len);     // GB
double closed_form_activations(const ClosedFormModel& model, int64_t batch, int64_t seq_len);  // GB

// GB per GPU under a ZeRO stage, from bytes per parameter of weights, gradients and optimizer. The
// defaults 2, 2 and 4 are the table of the memory guide, the project's other starting point.
struct StateRule {
  double weight = 2, gradient = 2, optimizer = 4;
};
double zero_gigabytes(double params_billions, const StateRule& rule, int64_t stage, int64_t gpus);

}  // namespace headroom
