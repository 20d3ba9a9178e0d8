#include "plan/closed_form/formula.h"

#include <algorithm>
#include <cassert>

#include "text/words.h"

namespace headroom {
namespace {

constexpr double kGiga = 1e9;
constexpr double kBytes = 2;  // per weight, gradient, cache entry, activation

double number(int64_t value) { return static_cast<double>(value); }

double weight_gigabytes(const ClosedFormModel& model) { return model.params_billions * kBytes; }
double optimizer_gigabytes(const ClosedFormModel& model) { return model.params_billions * 4 * 2; }

}  // namespace

const std::vector<ClosedFormModel>& closed_form_models() {
  static const std::vector<ClosedFormModel> kModels = {
      {"7b", 7, 4096, 32}, {"13b", 13, 5120, 40}, {"70b", 70, 8192, 80}, {"405b", 405, 16384, 126}};
  return kModels;
}

const ClosedFormModel& find_closed_form_model(std::string_view name) {
  std::vector<std::string> names;
  for (const ClosedFormModel& model : closed_form_models()) names.push_back(model.name);
  check_name("--formula closed-form --model-size", name, names,
             "--formula closed-form --model-size 70b");
  return *std::find_if(closed_form_models().begin(), closed_form_models().end(),
                       [&](const ClosedFormModel& model) { return model.name == name; });
}

double closed_form_kv_cache(const ClosedFormModel& model, int64_t batch, int64_t seq_len) {
  const double per_token = 2 * number(model.layers) * number(model.hidden) * kBytes;
  return number(batch) * number(seq_len) * per_token / kGiga;
}

double closed_form_activations(const ClosedFormModel& model, int64_t batch, int64_t seq_len) {
  const double per_layer = number(batch) * number(seq_len) * number(model.hidden) * 10 * kBytes;
  return per_layer * number(model.layers) / kGiga;
}

std::vector<ClosedFormComponent> closed_form_phase(const ClosedFormModel& model, int64_t batch,
                                                   int64_t seq_len, std::string_view phase) {
  const double one = weight_gigabytes(model);
  const double cache = closed_form_kv_cache(model, batch, seq_len);
  const double activations = closed_form_activations(model, batch, seq_len);
  if (phase == "generation") {
    return {{"Actor (weights)", one},
            {"KV Cache", cache},
            {"Reward Model", one},
            {"Reference Model", one},
            {"Misc (buffers)", 2.0}};
  }
  if (phase == "scoring") {
    return {{"Reward Model (weights)", one}, {"Activations", activations * 0.2}};
  }
  if (phase == "training") {
    return {{"Actor (weights)", one},
            {"Critic (weights)", one},
            {"Actor (gradients)", one},
            {"Critic (gradients)", one},
            {"Optimizer States", optimizer_gigabytes(model)},
            {"Activations", activations}};
  }
  assert(phase == "full_rlhf");
  return {{"Actor", one},
          {"Critic", one},
          {"Reward Model", one},
          {"Reference Model", one},
          {"Optimizer States", optimizer_gigabytes(model)},
          {"Gradients", one * 2},
          {"KV Cache (peak)", cache},
          {"Activations (peak)", activations}};
}

double total_gigabytes(const std::vector<ClosedFormComponent>& components) {
  double gigabytes = 0;
  for (const ClosedFormComponent& component : components) gigabytes += component.gigabytes;
  return gigabytes;
}

double zero_gigabytes(double params_billions, const StateRule& rule, int64_t stage, int64_t gpus) {
  const auto part = [&](double bytes, int64_t from_stage) {
    return params_billions * bytes / (stage >= from_stage ? number(gpus) : 1);
  };
  return part(rule.weight, 3) + part(rule.gradient, 2) + part(rule.optimizer, 1);
}

}  // namespace headroom
