#include "cli/flags/plans/tuning_flags.h"

#include <algorithm>

#include "cli/flags/flag_values.h"
#include "cli/flags/runs/dryrun_flags.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

// The word of a flag, one of the allowed ones.
std::string tuning_word(const Arguments& arguments, const std::string& flag,
                        const std::string& plain, const std::vector<std::string>& allowed) {
  std::string word = arguments.get(flag, plain);
  check_choice("--" + flag, word, allowed, "--" + flag + " " + allowed.front());
  return word;
}

// torchtune has its own layers and sharding.
void check_torchtune(const FineTuning& tuning) {
  if (tuning.stack != "torchtune") return;
  const std::string flag = tuning.packing                ? "--packing"
                           : tuning.liger                ? "--liger"
                           : tuning.zero > 0             ? "--zero"
                           : tuning.precision == "mixed" ? "--precision mixed"
                           : tuning.attention == "eager" ? "--attention eager"
                                                         : "";
  if (flag.empty()) return;
  throw UsageError("--stack", tuning.stack,
                   "has no " + flag + "; allowed with it: trainer, trl" +
                       (flag == "--packing" ? "" : ", accelerate"),
                   "--stack trl " + (tuning.zero > 0 ? "--gpus 2 --zero 3" : flag));
}

void check_together(const Arguments& arguments, const FineTuning& tuning) {
  for (const char* flag : {"rank", "targets"}) {
    if (!arguments.has(flag) || tuning.method != "full") continue;
    throw UsageError(std::string("--") + flag, arguments.get(flag),
                     "is of LoRA, and --method full trains all weights; allowed with it: --method "
                     "lora or qlora",
                     std::string("--method lora --") + flag + " " + arguments.get(flag));
  }
  if (tuning.packing && tuning.stack == "accelerate") {
    throw UsageError("--stack", tuning.stack,
                     "is a plain loop, which packs nothing; allowed with --packing: trainer, trl",
                     "--packing --stack trl");
  }
  check_torchtune(tuning);
  if (tuning.zero > 0 && tuning.cards == 1) {
    throw UsageError("--zero", std::to_string(tuning.zero),
                     "shards over several cards; allowed with it: --gpus 2 or more",
                     "--gpus 2 --zero " + std::to_string(tuning.zero));
  }
  if (tuning.zero > 0 && tuning.method == "qlora") {
    throw UsageError("--zero", std::to_string(tuning.zero),
                     "shards no weights of --method qlora; FSDP2 does, without the flag; allowed "
                     "with it: --method full or lora",
                     "--method qlora --gpus 2");
  }
}

int64_t length_of(const Arguments& arguments, int64_t most, int64_t plain) {
  const int64_t usual = most > 0 ? std::min(most, plain) : plain;
  const int64_t length = integer(arguments, "length", usual, 1, kMostTuningLength);
  if (most > 0 && length > most) {
    throw UsageError("--length", std::to_string(length),
                     "is longer than the model's positions; allowed: 1 to " + std::to_string(most),
                     "--length " + std::to_string(most));
  }
  return length;
}

}  // namespace

std::vector<Flag> tuning_flags() {
  const FineTuning plain;
  return {
      {"gpus", "N",
       "cards; with several, the weights are sharded (FSDP2, or --zero), and rank 0 runs (default "
       "1)",
       "Card"},
      {"zero", "2|3", "shard with DeepSpeed's ZeRO of this stage instead of FSDP2", "Card"},
      {"method", "WORD", "full, lora, qlora (default lora)", "Training"},
      {"rank", "N", "rank of LoRA (default " + std::to_string(plain.rank) + ")", "Training"},
      {.name = "targets",
       .value = "LIST",
       .help = "modules with LoRA: all-linear, or names such as q_proj,v_proj (default "
               "all-linear)",
       .group = "Training",
       .example = "--targets q_proj,v_proj"},
      {"batch", "N", "sequences per step (default 1)", "Training"},
      {"length", "N",
       "tokens per sequence (default " + std::to_string(plain.length) + ", or all of the model)",
       "Training"},
      {"packing", "", "pack rows into sequences without padding (--stack trainer or trl)",
       "Training"},
      {"precision", "WORD",
       "bf16: weights in BF16; mixed: FP32 weights under BF16 autocast; fp32 (default bf16)",
       "Training"},
      {"checkpointing", "", "recompute activations in backward (gradient checkpointing)",
       "Training"},
      {"optimizer", "WORD", join(kTuningOptimizers) + " (default adamw)", "Training"},
      {"attention", "WORD", "sdpa or eager (default sdpa)", "Training"},
      {"liger", "", "Liger's Triton kernels in place of transformers' layers", "Training"},
      {"stack", "WORD", "program that trains: " + join(kStacks) + " (default trainer)", "Training"},
      route_flag(),
  };
}

TuningQuestion tuning_question_of(const Arguments& arguments) {
  constexpr const char* kExample = "headroom finetune --config llama-3.1-8b --card rtx4090";
  TuningQuestion question;
  question.model = model_on_card(arguments, kExample, "--card rtx4090 --bytes 20GiB");
  FineTuning& tuning = question.tuning;
  const FineTuning plain;
  tuning.config = question.model.shape.config;
  tuning.stack = tuning_word(arguments, "stack", plain.stack, kStacks);
  tuning.method = tuning_word(arguments, "method", plain.method, kTuningMethods);
  tuning.rank = integer(arguments, "rank", plain.rank, 1, 65536);
  tuning.targets = arguments.get("targets", plain.targets);
  tuning.batch = integer(arguments, "batch", plain.batch, 1, kMostTuningBatch);
  tuning.length = length_of(arguments, question.model.shape.most_length, plain.length);
  tuning.packing = arguments.has("packing");
  tuning.precision = tuning_word(arguments, "precision", plain.precision, kTuningPrecisions);
  tuning.checkpointing = arguments.has("checkpointing");
  tuning.optimizer = tuning_word(arguments, "optimizer", plain.optimizer, kTuningOptimizers);
  tuning.attention = tuning_word(arguments, "attention", plain.attention, kTuningAttentions);
  tuning.liger = arguments.has("liger");
  question.route = route_of(arguments);
  tuning.cards = integer(arguments, "gpus", 1, 1, 4096);
  if (arguments.has("zero")) {
    check_choice("--zero", arguments.get("zero"), {"2", "3"}, "--gpus 2 --zero 3");
    tuning.zero = integer(arguments, "zero", 3, 2, 3);
  }
  check_together(arguments, tuning);
  return question;
}

}  // namespace headroom
