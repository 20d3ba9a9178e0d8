#include "plan/closed_form/report.h"

#include <algorithm>
#include <array>
#include <map>

#include "model/parameter_table.h"
#include "plan/closed_form/formula.h"
#include "plan/rlhf/rank_components.h"
#include "profiling/report/rows/cells.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr double kGigabyte = 1e9;

std::string gigabytes(double value) { return number_text(value, 1); }

// The guide's setting: one GPU holds everything; what a phase does not need is swapped out.
RlhfSpec on_one_gpu(const RlhfSpec& spec) {
  RlhfSpec one = spec;
  one.num_gpus = 1;
  one.setup = {.swap_phases = true};
  one.critic = spec.critic ? spec.critic : spec.actor;
  one.reward = spec.reward ? spec.reward : spec.actor;
  return one;
}

// One of the guide's components, our components for the same, and the reason for the difference.
struct Match {
  const char* phase;
  const char* theirs;
  std::vector<std::string> ours;
  std::string why;
};

std::string cache_reason(const ModelConfig& shape) {
  if (shape.kv_heads == shape.heads) return "the same: every head has keys and values of its own";
  return "the guide caches the whole width; " + std::to_string(shape.kv_heads) + " of " +
         std::to_string(shape.heads) + " heads have keys and values";
}

std::string activation_reason(const RlhfSpec& spec, const RlhfModels& models) {
  const Layout one;
  const int64_t block = models.actor.cost.block_kept().on_rank(one, spec.actor.vocab_size);
  const auto width = static_cast<double>(spec.micro_batch() * spec.seq_len * spec.actor.d_model);
  return "the guide has 10 x hidden of 2 bytes per token and layer; a block keeps " +
         number_text(static_cast<double>(block) / width / 2, 1) +
         " x hidden, and the logits come on top";
}

std::vector<Match> matches(const RlhfSpec& spec, const RlhfModels& models) {
  const std::string count = "the guide takes the name's " + spec.actor.name + "; it has " +
                            grouped(parameter_count(spec.actor)) + " parameters";
  const std::string score =
      "as above, with one output for the vocabulary's " + grouped(spec.actor.vocab_size);
  const std::string adam =
      "the guide has two moments of one model; two are trained" +
      std::string(spec.precision.master > 0 ? ", with FP32 master weights" : "");
  const std::string idle = "scoring needs it, generating does not: swapped out here";
  const std::string cache = cache_reason(spec.actor);
  const std::string kept = activation_reason(spec, models);
  const std::vector<std::string> training = {"Activations", "Logits and loss", "Recomputed block"};
  return {
      {"generation", "Actor (weights)", {"Actor (weights)"}, count},
      {"generation", "KV Cache", {"KV cache"}, cache},
      {"generation", "Reward Model", {"Reward model (weights)"}, idle},
      {"generation", "Reference Model", {"Reference model (weights)"}, idle},
      {"generation",
       "Misc (buffers)",
       {"CUDA context", "cuBLAS workspaces", "Prefill and sampling", "Tokens and mask"},
       "a round figure; ours is context (assumed), workspaces, prefill"},
      {"scoring", "Reward Model (weights)", {"Reward model (weights)"}, score},
      {"scoring",
       "Activations",
       {"Activations (scoring)"},
       "the guide takes a fifth of training's; without gradients nothing is kept, ours is the "
       "fullest instant"},
      {"training", "Actor (weights)", {"Actor (weights)"}, count},
      {"training", "Critic (weights)", {"Critic (weights)"}, score},
      {"training", "Actor (gradients)", {"Actor (gradients)"}, count},
      {"training", "Critic (gradients)", {"Critic (gradients)"}, score},
      {"training", "Optimizer States", {"Actor (optimizer)", "Critic (optimizer)"}, adam},
      {"training", "Activations", training, kept},
      {"full_rlhf", "Actor", {"Actor (weights)"}, count},
      {"full_rlhf", "Critic", {"Critic (weights)"}, score},
      {"full_rlhf", "Reward Model", {"Reward model (weights)"}, score},
      {"full_rlhf", "Reference Model", {"Reference model (weights)"}, count},
      {"full_rlhf", "Optimizer States", {"Actor (optimizer)", "Critic (optimizer)"}, adam},
      {"full_rlhf",
       "Gradients",
       {"Actor (gradients)", "Critic (gradients)"},
       "of the true numbers of parameters"},
      {"full_rlhf", "KV Cache (peak)", {"KV cache"}, cache},
      {"full_rlhf", "Activations (peak)", training, kept},
  };
}

std::vector<Component> components_of(const RankMemory& memory, const std::string& phase) {
  if (phase == "full_rlhf") return memory.components;
  for (const RlhfPhase known : kRlhfPhases) {
    if (to_string(known) == phase) return memory.in_phase(known, /*swap_phases=*/true);
  }
  return {};
}

Table phase_table(const RlhfSpec& spec, const ClosedFormModel& model, const RankMemory& memory,
                  const std::string& phase, const std::vector<Match>& all) {
  const bool everything = phase == "full_rlhf";
  Table table{.title = everything ? "Everything at once" : "Phase: " + phase,
              .columns = {{"component"}, {"closed form, GB", true}, {"ours, GB", true}, {"why"}}};
  const std::vector<ClosedFormComponent> theirs =
      closed_form_phase(model, spec.batch_size, spec.seq_len, phase);
  std::vector<Component> rest = components_of(memory, phase);
  const double ours = static_cast<double>(sum(rest)) / kGigabyte;
  for (const ClosedFormComponent& component : theirs) {
    const auto match = std::find_if(all.begin(), all.end(), [&](const Match& candidate) {
      return phase == candidate.phase && component.name == candidate.theirs;
    });
    int64_t bytes = 0;
    std::erase_if(rest, [&](const Component& one) {
      if (!is_one_of(one.name, match->ours)) return false;
      bytes += one.bytes;
      return true;
    });
    table.rows.push_back({component.name, gigabytes(component.gigabytes),
                          gigabytes(static_cast<double>(bytes) / kGigabyte), match->why});
  }
  std::vector<std::string> names;
  names.reserve(rest.size());
  for (const Component& component : rest) names.emplace_back(component.name);
  table.rows.push_back({"not in the guide", gigabytes(0),
                        gigabytes(static_cast<double>(sum(rest)) / kGigabyte), join(names)});
  table.rows.push_back({"TOTAL", gigabytes(total_gigabytes(theirs)), gigabytes(ours), ""});
  const double available = static_cast<double>(spec.card.total_bytes) / kGigabyte;
  const double factor = total_gigabytes(theirs) / available;
  table.notes.push_back(factor > 1 ? "closed form: EXCEEDS " + gigabytes(available) +
                                         " GB, needs " + number_text(factor, 1) + "x GPUs"
                                   : "closed form: FITS in " + gigabytes(available) + " GB, " +
                                         number_text(100 * factor, 0) + " % utilized");
  return table;
}

// The guide treats names with "weights" or "optimizer" in them as fixed; in its worst case only the
// optimizer has such a name.
Table scaling_table(const RlhfSpec& spec, const ClosedFormModel& model) {
  const auto optimizer = closed_form_phase(model, 4, 2048, "full_rlhf")[4].gigabytes;
  const double everything = total_gigabytes(closed_form_phase(model, 4, 2048, "full_rlhf"));
  Table table{.title = "The guide's batch sizes, at 2,048 tokens",
              .columns = {{"batch size"},
                          {"KV cache, GB", true},
                          {"activations, GB", true},
                          {"total, GB", true},
                          {"one GPU"}}};
  const double available = static_cast<double>(spec.card.total_bytes) / kGigabyte;
  for (const int64_t batch : {1, 2, 4, 8, 16, 32}) {
    const double cache = closed_form_kv_cache(model, batch, 2048);
    const double activations = closed_form_activations(model, batch, 2048);
    const double all = optimizer + cache + activations;
    table.rows.push_back({std::to_string(batch), gigabytes(cache), gigabytes(activations),
                          gigabytes(all), all <= available ? "fits" : "exceeds"});
  }
  table.notes = {"Batch 4: fixed costs " + gigabytes(optimizer) + " GB, scaling costs " +
                     gigabytes(everything - optimizer) + " GB, total " + gigabytes(everything) +
                     " GB.",
                 "The guide counts weights and gradients as scaling costs; only its optimizer is "
                 "fixed, and the table's totals leave weights and gradients out."};
  return table;
}

Table setup_table(const RlhfSpec& spec, const ClosedFormModel& model) {
  const double required = total_gigabytes(closed_form_phase(model, 4, 2048, "full_rlhf"));
  const double gpu = static_cast<double>(spec.card.total_bytes) / kGigabyte;
  const double available = gpu * static_cast<double>(spec.num_gpus);
  Table table{.title = "The guide's recommended set-up",
              .columns = {{"question"}, {"answer"}},
              .rows = {{"required (naive)", gigabytes(required) + " GB"},
                       {"available", gigabytes(available) + " GB"}}};
  if (required <= gpu) {
    table.rows.push_back({"fits", "on a single GPU: simple co-located setup"});
  } else if (required <= available) {
    const auto wanted = static_cast<int64_t>(required / gpu * 0.7);
    const int64_t tp = std::min({std::max<int64_t>(1, wanted), spec.num_gpus, int64_t{8}});
    table.rows.push_back({"fits", "across " + std::to_string(spec.num_gpus) +
                                      " GPUs: tensor parallelism " + std::to_string(tp) +
                                      ", data or pipeline parallelism " +
                                      std::to_string(spec.num_gpus / tp)});
  } else {
    table.rows.push_back(
        {"fits", "no: needs " + number_text(required / gpu, 0) + " GPUs or memory optimization"});
    table.rows.push_back(
        {"consider", "ZeRO-3 / FSDP, gradient checkpointing, disaggregated architecture"});
  }
  return table;
}

// Bytes of the actor alone on one GPU during training; all GPUs are replicas.
struct States {
  int64_t all = 0;
  int64_t in_flight = 0;  // part of `all` that is whole only for a moment
};

States states_of(RlhfSpec spec, const char* precision, int64_t zero) {
  spec.critic.reset();
  spec.reward.reset();
  spec.precision = find_state_precision(precision);
  spec.optimizer = OptimizerKind::kAdamw;
  spec.setup = {.layout = {.dp = spec.num_gpus, .zero = zero}, .reference = Reference::kNone};
  const std::vector<std::string> lasting = {"Actor (weights)", "Actor (gradients)",
                                            "Actor (optimizer)"};
  const std::vector<std::string> passing = {kGatheredInStep, std::string(kGradientsInFlight)};
  States states;
  for (const Component& component : stage_memory(spec, RlhfModels(spec), 0).components) {
    if (is_one_of(component.name, passing)) states.in_flight += component.bytes;
    if (is_one_of(component.name, lasting)) states.all += component.bytes;
  }
  states.all += states.in_flight;
  return states;
}

Table zero_table(const RlhfSpec& spec, const ClosedFormModel& model) {
  Table table{.title = "ZeRO: states per GPU, " + model.name + " on " +
                       std::to_string(spec.num_gpus) + " GPUs, one trained model",
              .columns = {{"stage"},
                          {"closed form: 2 + 2 + 4 bytes, GB", true},
                          {"bf16-pure, GB", true},
                          {"bf16-mixed, GB", true},
                          {"of it in flight, GB", true}}};
  for (int64_t stage = 0; stage <= 3; ++stage) {
    std::vector<std::string> row = {
        stage == 0 ? "no ZeRO" : "ZeRO-" + std::to_string(stage),
        number_text(zero_gigabytes(model.params_billions, {}, stage, spec.num_gpus), 2)};
    const States pure = states_of(spec, "bf16-pure", stage);
    const States mixed = states_of(spec, "bf16-mixed", stage);
    for (const int64_t bytes : {pure.all, mixed.all, mixed.in_flight}) {
      row.push_back(number_text(static_cast<double>(bytes) / kGigabyte, 2));
    }
    table.rows.push_back(std::move(row));
  }
  table.notes = {
      "closed form: " + number_text(model.params_billions, 0) +
          "e9 parameters, an optimizer of 4 bytes per parameter (two BF16 moments), nothing in "
          "flight.",
      "ours: " + grouped(parameter_count(spec.actor)) +
          " parameters; bf16-mixed has FP32 moments and master weights, 16 bytes per parameter. In "
          "flight: layers gathered and gradients on their way."};
  return table;
}

}  // namespace

std::vector<Table> closed_form_report(const RlhfSpec& spec) {
  const ClosedFormModel& model = find_closed_form_model(spec.actor.name);
  const RlhfSpec one = on_one_gpu(spec);
  const RlhfModels models(one);
  const RankMemory memory = stage_memory(one, models, 0);
  const std::vector<Match> all = matches(one, models);
  std::vector<Table> tables;
  for (const char* phase : {"generation", "scoring", "training", "full_rlhf"}) {
    tables.push_back(phase_table(one, model, memory, phase, all));
  }
  tables.back().notes.push_back(
      "GB of 10^9 bytes, whole models on no particular number of GPUs, batch " +
      std::to_string(spec.batch_size) + ", " + grouped(spec.seq_len) +
      " tokens. Ours: " + states_in_words(spec.precision, spec.optimizer) + ", attention " +
      to_string(spec.attention) + ".");
  tables.push_back(scaling_table(one, model));
  tables.push_back(setup_table(spec, model));
  tables.push_back(zero_table(spec, model));
  return tables;
}

}  // namespace headroom
