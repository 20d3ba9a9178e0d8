#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cli/flags/runs/run_flags.h"
#include "tests/files/scratch_directory.h"
#include "tests/train/data/write_safetensors.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Arguments parse(const std::vector<Flag>& flags, std::vector<const char*> words,
                bool takes_positional = false) {
  words.insert(words.begin(), "command");
  const CommandLine line("command", "", flags, takes_positional);
  return line.parse(static_cast<int>(words.size()), words.data());
}

RunSpec cell(std::vector<const char*> words) {
  words.insert(words.begin(), {"--model-size", "small"});
  return cell_from(parse(cell_flags(), words));
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Flags, AnOldSpellingIsTakenAndTellsTheNewOneOnce) {
  testing::internal::CaptureStderr();
  const RunSpec spec = cell({"--mode", "training", "--checkpoint", "every:2", "--weights=bf16"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "headroom: --checkpoint is now --recompute; both work\n"
            "headroom: --weights is now --param-dtype; both work\n");
  EXPECT_EQ(spec.profile_type, Mode::kTraining);
  EXPECT_EQ(to_string(spec.checkpoint), "every:2");
  EXPECT_EQ(spec.weights, WeightType::kBf16);
  EXPECT_THAT(refusal([] {
                cell({"--checkpoint", "full", "--recompute", "full"});
              }),
              HasSubstr("--recompute: 'full' is a second value"));
  EXPECT_THAT(refusal([] { cell({"--weights"}); }), HasSubstr("--param-dtype: needs a value"));
}

// A value other than the default. `directory` has the input files.
std::string other_value(const Field& field, const ScratchDirectory& directory) {
  const std::map<std::string, std::string> own = {{"tokens", directory.file("tokens.bin")},
                                                  {"load_weights", directory.file("weights")},
                                                  {"load_checkpoint", directory.path()},
                                                  {"save_checkpoint", directory.path()},
                                                  {"top_p", "0.5"},
                                                  {"kv_cache_tokens", "1024"},
                                                  {"mesh", "dp=2"},
                                                  {"schedule", "gpipe"}};
  if (const auto found = own.find(field.name); found != own.end()) return found->second;
  if (field.name.ends_with("_offload")) return "cpu";
  if (field.numeric()) return "2";
  const std::string value = field.choices.empty() ? field.get(RunSpec{}) : field.choices.back();
  return value.empty() ? "/dev/null" : value;
}

// Flags without which the field's flag is refused.
std::vector<std::string> needed_flags(const Field& field, const ScratchDirectory& directory) {
  const std::map<std::string, std::vector<std::string>> own = {
      {"d_model", {"--heads", "1"}},
      {"micro_batches", {"--profile-type", "training"}},
      {"max_grad_norm", {"--profile-type", "training"}},
      {"release_gradients", {"--profile-type", "training"}},
      {"optimizer_offload", {"--profile-type", "training"}},
      {"load_checkpoint", {"--profile-type", "training"}},
      {"save_checkpoint", {"--profile-type", "training"}},
      {"save_every", {"--profile-type", "training", "--save-checkpoint", directory.path()}},
      {"zero", {"--mesh", "dp=2"}},
      {"sequence_parallel", {"--mesh", "tp=2"}},
      {"shard_group", {"--mesh", "dp=2", "--zero", "1"}},
      {"reshard_after_forward", {"--mesh", "dp=2", "--zero", "3"}},
      {"prefetch", {"--mesh", "dp=2", "--zero", "3"}},
      {"schedule", {"--mesh", "pp=2", "--profile-type", "training"}},
      {"kernels", {"--profile-type", "training", "--device", "cpu"}},
      {"step_graph",
       {"--profile-type", "training", "--optimizer-impl", "fused", "--device", "virtual:h200"}},
      {"master_weights", {"--param-dtype", "bf16"}},
      {"rounding", {"--param-dtype", "bf16"}}};
  std::vector<std::string> flags;
  if (const auto found = own.find(field.name); found != own.end()) flags = found->second;
  if (field.group == FieldGroup::kGeneration) {
    flags.insert(flags.end(), {"--profile-type", "generate"});
  }
  if (is_one_of(field.name, {"top_k", "top_p"})) {
    flags.insert(flags.end(), {"--temperature", "1"});
  }
  return flags;
}

TEST(Flags, EveryFieldHasAFlagThatSetsIt) {
  // Input files are read before a cell starts, so they must be real ones.
  const ScratchDirectory scratch;
  scratch.write("tokens.bin", "\x01\x02\x03\x04");
  write_safetensors(scratch.file("weights"), {});
  for (const Field& field : fields()) {
    if (field.name == "model_size" || field.name == "device") continue;  // a known word
    const std::string value = field.is_switch() ? "true" : other_value(field, scratch);
    std::vector<std::string> all = {field.flag(), value};
    if (field.is_switch()) all = {field.flag() + "=true"};
    for (const std::string& word : needed_flags(field, scratch)) all.push_back(word);
    std::vector<const char*> words;
    for (const std::string& word : all) words.push_back(word.c_str());
    EXPECT_EQ(field.get(cell(words)), value) << field.flag();
  }
}

TEST(Flags, ASwitchAloneIsOnAndItsValueStandsBehindAnEqualsSign) {
  EXPECT_TRUE(cell({"--profile-type", "training", "--release-gradients"}).release_gradients);
  EXPECT_FALSE(cell({"--release-gradients=false"}).release_gradients);
  EXPECT_THAT(refusal([] { cell({"--release-gradients=yes"}); }),
              HasSubstr("--release-gradients: 'yes' is unknown; allowed: false, true"));
  EXPECT_THAT(refusal([] {
                cell({"--release-gradients", "false"});
              }),
              HasSubstr("belongs to no flag"));
  const SweepGrid grid =
      grid_from(parse(grid_flags(), {"--model-size", "small", "--release-gradients=true,false"}));
  EXPECT_THAT(grid.axes.back().values, ElementsAre("true", "false"));
  EXPECT_THAT(CommandLine("profile", "", cell_flags()).help(),
              HasSubstr("  --release-gradients[=WORD]"));
}

TEST(Flags, TheAssignmentsCommandLineRunsUnchanged) {
  const RunSpec spec = cell_from(parse(
      cell_flags(), {"--model-size", "2.7B", "--context-length", "512", "--profile-type",
                     "training", "--use-mixed-precision", "--dtype", "fp16", "--warmup-steps", "5",
                     "--measure-steps", "10", "--output", "out.pickle", "--device", "cuda"}));
  EXPECT_EQ(spec.model_size, "2.7B");
  EXPECT_EQ(spec.profile_type, Mode::kTraining);
  EXPECT_EQ(spec.precision, Precision::kFp16);
  EXPECT_EQ(spec.snapshot, "out.pickle");
  EXPECT_EQ(cell({"--use-mixed-precision"}).precision, Precision::kBf16);
}

TEST(Flags, AValueMayHoldWhatASplitterWouldCut) {
  EXPECT_EQ(cell({"--output", "a,b \"c\"\n\xC3\xA9.pickle"}).snapshot,
            "a,b \"c\"\n\xC3\xA9.pickle");
  EXPECT_EQ(cell({"--alloc-conf", "expandable_segments:True,max_split_size_mb:128"}).alloc_conf,
            "expandable_segments:True,max_split_size_mb:128");
  EXPECT_EQ(cell({"--output==x"}).snapshot, "=x");
}

TEST(Flags, ArgumentsAfterTwoDashesAreFilesWhateverTheyLookLike) {
  const Arguments arguments =
      parse({}, {"summary", "a,b.jsonl", "--", "-odd.jsonl", "--odder"}, true);
  EXPECT_THAT(arguments.positional, ElementsAre("summary", "a,b.jsonl", "-odd.jsonl", "--odder"));
  EXPECT_THAT(refusal([] { parse({}, {"-odd.jsonl"}, true); }), HasSubstr("unknown option -odd"));
}

TEST(Flags, HelpNamesEachGroupOnce) {
  std::vector<Flag> flags = cell_flags();
  flags.push_back({"deadline", "N", "", "Limits"});
  flags.push_back({"watch", "", "", flags.front().group});
  const std::string help = CommandLine("command", "", flags).help();
  for (const std::string& group : {flags.front().group, std::string("Limits")}) {
    const size_t at = help.find("\n" + group + "\n");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(help.find("\n" + group + "\n", at + 1), std::string::npos) << group;
  }
}

TEST(Flags, HelpWinsOverEveryError) {
  EXPECT_TRUE(parse(cell_flags(), {"--nonsense", "x", "--help"}).has("help"));
}

TEST(Flags, AGridIsOneAxisPerListAndKeepsWhatIsNoList) {
  const SweepGrid grid = grid_from(
      parse(grid_flags(), {"--profile-type", "forward,training", "--model-size", "small,2.7B",
                           "--context-length", "128", "--alloc-conf", "a:1,b:2"}));
  ASSERT_EQ(grid.axes.size(), 3);
  EXPECT_EQ(grid.axes[0].field, "model_size");
  EXPECT_THAT(grid.axes[2].values, ElementsAre("forward", "training"));
  EXPECT_EQ(grid.base.alloc_conf, "a:1,b:2");
  EXPECT_EQ(expand(grid.base, grid.axes).size(), 4);
}

TEST(Flags, WhatHoldsCommasIsListedAllTheSame) {
  const SweepGrid settings =
      grid_from(parse(grid_flags(), {"--model-size", "small", "--alloc-conf", "default;a:1,b:2"}));
  EXPECT_THAT(settings.axes.back().values, ElementsAre("", "a:1,b:2"));
  const SweepGrid devices = grid_from(parse(
      grid_flags(), {"--model-size", "small", "--device", "cpu,virtual:h200,bytes=80GiB,cuda"}));
  EXPECT_THAT(devices.axes.back().values, ElementsAre("cpu", "virtual:h200,bytes=80GiB", "cuda"));
}

TEST(Flags, EveryRefusalIsOneLineWithItsFlag) {
  const std::vector<std::vector<const char*>> refused = {
      {"--context-length", "0"},   {"--context-length", "512x"},
      {"--context-length", ""},    {"--learning-rate", "nan"},
      {"--learning-rate", "1,5"},  {"--heads", "7"},
      {"--dtype", "bf16"},         {"--device", "gpu"},
      {"--tokens", "missing.bin"}, {"--record-steps", "0", "--measure-steps", "0"}};
  for (const auto& words : refused) {
    const std::string line = refusal([&] { cell(words); });
    EXPECT_THAT(line, HasSubstr("--")) << words[1];
    EXPECT_THAT(line, Not(HasSubstr("\n"))) << words[1];
  }
}

TEST(Flags, LimitsAreExactSizesAndPlainNumbers) {
  const CellOptions limits =
      limits_from(parse(limit_flags(), {"--host-memory", "20GiB", "--deadline", "1.5"}));
  EXPECT_EQ(limits.host_memory_bytes, int64_t{20} << 30);
  EXPECT_EQ(limits.deadline_seconds, 1.5);
}

}  // namespace
}  // namespace headroom
