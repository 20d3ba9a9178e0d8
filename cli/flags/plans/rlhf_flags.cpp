#include "cli/flags/plans/rlhf_flags.h"

#include <algorithm>

#include "cli/flags/flag_values.h"
#include "cli/flags/plans/card_flags.h"
#include "cli/flags/plans/model_flags.h"
#include "cli/flags/setup_file.h"
#include "cli/flags/timeline_flag.h"
#include "plan/rlhf/memory.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kUsualSize = "70b";
constexpr const char* kModels = "Models";
constexpr const char* kBatch = "Batch";
constexpr const char* kMachine = "Machine and layout";
constexpr const char* kRun = "How it runs";

std::optional<ModelConfig> other_model(const Arguments& arguments, const char* name,
                                       const ModelConfig& actor) {
  if (!arguments.has(name)) return actor;
  const std::string word = arguments.get(name);
  if (word == "none") return std::nullopt;
  std::vector<std::string> words = {"none"};
  for (const ModelConfig& config : named_configs()) words.push_back(config.name);
  check_name("--" + std::string(name), word, words, "--" + std::string(name) + " 7b");
  return *find_config(word);
}

void read_batch(RlhfSpec& spec, const Arguments& arguments) {
  spec.batch_size = integer(arguments, "batch-size", 4);
  spec.setup.micro_batch_size = integer(arguments, "micro-batch-size", 0);
  spec.seq_len = integer(arguments, "seq-len", 2048);
  spec.response_len = integer(arguments, "response-len", spec.seq_len / 2, 0);
  if (!arguments.has("prompt-len")) return;
  const int64_t prompt = integer(arguments, "prompt-len", 0);
  if (!arguments.has("response-len") && prompt > spec.seq_len) {
    throw UsageError("--prompt-len", std::to_string(prompt),
                     "is longer than a sequence of " + std::to_string(spec.seq_len) + " tokens",
                     "--prompt-len 4000 --response-len 96");
  }
  if (!arguments.has("response-len") && !arguments.has("seq-len")) {
    spec.response_len = std::max<int64_t>(spec.seq_len - prompt, 0);
  } else if (!arguments.has("response-len")) {
    spec.response_len = spec.seq_len - prompt;
  }
  if (!arguments.has("seq-len") && arguments.has("response-len")) {
    spec.seq_len = prompt + spec.response_len;
  }
  if (prompt + spec.response_len != spec.seq_len) {
    throw UsageError("--prompt-len", std::to_string(prompt),
                     "and --response-len " + std::to_string(spec.response_len) +
                         " do not add up to --seq-len " + std::to_string(spec.seq_len),
                     "--prompt-len 1024 --response-len 1024");
  }
}

void read_layout(RlhfSpec& spec, const Arguments& arguments) {
  Layout& layout = spec.setup.layout;
  layout.zero = integer(arguments, "zero", 0, 0, 3);
  layout.sequence_parallel = arguments.has("sequence-parallel");
  const bool given = arguments.has("tp") || arguments.has("pp") || arguments.has("dp");
  layout.tp = integer(arguments, "tp", 1);
  layout.pp = integer(arguments, "pp", 1);
  layout.dp = integer(arguments, "dp", 1);
  spec.num_gpus = integer(arguments, "num-gpus", 8, 1, 1 << 20);
  if (!given) {
    layout = usual_layout(spec);
    return;
  }
  if (layout.tp > spec.num_gpus || layout.pp > spec.num_gpus) return;  // validate() refuses it
  if (!arguments.has("dp"))
    layout.dp = std::max<int64_t>(1, spec.num_gpus / (layout.tp * layout.pp));
  if (!arguments.has("num-gpus")) spec.num_gpus = layout.ranks();
}

// Only if the user requested it; as a default it is just one of the parts that do not fit.
void check_resident_reference(const RlhfSpec& spec) {
  const RlhfModels models(spec);
  for (const RankMemory& memory : rank_memories(spec, models)) {
    for (const Component& component : memory.components) {
      if (component.name != kReferenceWeights || component.bytes <= spec.card.total_bytes) continue;
      throw UsageError("--reference", "resident",
                       "takes " + format_bytes(component.bytes) + " of a GPU with " +
                           format_bytes(spec.card.total_bytes) + " under " +
                           to_string(spec.setup.layout) + "; allowed here: offload, none",
                       "--reference offload");
    }
  }
}

std::vector<Flag> models_and_batch_flags() {
  const RlhfSpec defaults;
  return {{"critic-size", "WORD", "critic: a named shape, or none (default the actor's)", kModels},
          {"reward-size", "WORD", "reward model: a named shape, or none (default the actor's)",
           kModels},
          {"reference", "WORD",
           choices_with_default(defaults.setup.reference) +
               "; offload: " + meaning_of(Reference::kOffload),
           kModels},
          {"batch-size", "N", "sequences per data-parallel replica (default 4)", kBatch},
          {"micro-batch-size", "N", "sequences per scoring or training pass (default the batch)",
           kBatch},
          {"seq-len", "N", "tokens of prompt and response together (default 2048)", kBatch},
          {"prompt-len", "N", "prompt tokens, a part of --seq-len", kBatch},
          {"response-len", "N",
           "generated tokens, a part of --seq-len; 0 = no generation (default half)", kBatch}};
}

std::vector<Flag> layout_flags() {
  return {
      {"num-gpus", "N", "number of GPUs (default 8)", kMachine},
      {"tp", "N", "tensor-parallel GPUs (default: as many as divide the heads, up to 8)", kMachine},
      {"pp", "N", "pipeline stages (default 1)", kMachine},
      {"dp", "N", "data-parallel replicas (default: the remaining GPUs)", kMachine},
      {"zero", "N", "ZeRO stage across the replicas: 0, 1, 2, 3 (default 0)", kMachine},
      {"sequence-parallel", "",
       "split by tokens the activations that tensor parallelism leaves whole", kMachine}};
}

std::vector<Flag> training_flags() {
  const RlhfSpec defaults;
  return {
      {"precision", "WORD",
       join(state_precision_names()) + " (default " + state_precisions().front().name + ")", kRun},
      {"optimizer", "WORD", choices_with_default(defaults.optimizer), kRun},
      {"optimizer-impl", "WORD",
       join(choices_of<OptimizerImpl>()) + " (default fused if available, else reference)", kRun},
      {"attention", "WORD", choices_with_default(defaults.attention), kRun},
      {.name = "recompute",
       .value = "WORD",
       .help = choices_with_default(defaults.setup.checkpoint.kind),
       .group = kRun,
       .old_name = "checkpoint"},
      {"kv-dtype", "WORD", join(choices_of<ElementType>()) + " (default the weights')", kRun},
      {"optimizer-offload", "", "keep optimizer states and their update on the host", kRun},
      {"swap-phases", "", "keep models and states that a phase does not need in host memory",
       kRun}};
}

std::vector<Flag> output_flags() {
  return {
      {"formula", "WORD",
       choices_with_default(Formula::kExact) + "; closed-form: " + meaning_of(Formula::kClosedForm),
       "Output"},
      {"records", "FILE,...",
       "Records of headroom profile: measured values of the same shape, for comparison", "Output",
       FileUse::kRead},
      timeline_flag(),
      setup_flag(),
      {"format", "WORD", "table, csv, md, json (default table)", "Output"}};
}

}  // namespace

const EnumWords<Formula>& words_of(Formula) {
  static const EnumWords<Formula> kWords = {
      {Formula::kExact, "exact", "theory's rows, tensor by tensor"},
      {Formula::kClosedForm, "closed-form", "the guide's formulas, compared with headroom's"}};
  return kWords;
}

Formula formula_from(const Arguments& arguments) {
  const std::string before = "seed";  // the old word, confused with the random seed
  if (arguments.get("formula") == before) {
    throw UsageError("--formula", before, "is called closed-form now", "--formula closed-form");
  }
  return choice(arguments, "formula", Formula::kExact);
}

std::vector<Flag> rlhf_flags() {
  std::vector<Flag> flags =
      model_flags("shape of the actor and the reference model", kUsualSize, kModels);
  for (const std::vector<Flag>& group : {models_and_batch_flags(), card_flags(kMachine),
                                         layout_flags(), training_flags(), output_flags()}) {
    flags = joined(std::move(flags), group);
  }
  return flags;
}

RlhfSpec rlhf_spec_from(const Arguments& arguments) {
  RlhfSpec spec;
  spec.actor = shape_from(arguments, kUsualSize);
  spec.critic = other_model(arguments, "critic-size", spec.actor);
  spec.reward = other_model(arguments, "reward-size", spec.actor);
  spec.setup.reference = choice(arguments, "reference", spec.setup.reference);
  read_batch(spec, arguments);
  spec.card = card_from(arguments);
  spec.precision =
      find_state_precision(arguments.get("precision", state_precisions().front().name));
  spec.optimizer = choice(arguments, "optimizer", spec.optimizer);
  if (arguments.has("optimizer-impl")) {
    spec.optimizer_impl = choice(arguments, "optimizer-impl", OptimizerImpl::kFused);
  }
  spec.attention = choice(arguments, "attention", spec.attention);
  spec.setup.checkpoint =
      parse_checkpoint("--recompute", arguments.get("recompute", to_string(spec.setup.checkpoint)));
  const bool wide = spec.precision.low == bytes_of(ElementType::kFp32);
  spec.cache = choice(arguments, "kv-dtype", wide ? ElementType::kFp32 : ElementType::kBf16);
  if (arguments.has("optimizer-offload")) spec.setup.optimizer_space = MemorySpace::kHost;
  spec.setup.swap_phases = arguments.has("swap-phases");
  read_layout(spec, arguments);
  validate(spec);
  if (arguments.get("reference") == "resident") check_resident_reference(spec);
  return spec;
}

}  // namespace headroom
