#include "cli/flags/plans/fit_flags.h"

#include <algorithm>

#include "bench/process/virtual_card.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/plans/fit_mesh_flags.h"
#include "cli/flags/runs/run_flags.h"
#include "plan/fit/vary.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kFit = "Search";
constexpr const char* kOutput = "Output";
constexpr const char* kSkipsExample =
    "headroom fit --card rtx4090 --skip-host-init --vary batch=1..256 -- python train.py "
    "--batch-size {batch}";
constexpr int64_t kLargest = 1 << 24;  // the limit of the settings themselves

// Flags that a search sets itself, or that write files of one run.
bool is_of_one_run(const Flag& flag) {
  static const std::vector<std::string> kNames = {
      "device",      "micro-batches", "snapshot",  "save-weights",    "stacks",
      "max-entries", "record-steps",  "output",    "load-checkpoint", "save-checkpoint",
      "save-every",  "kernels",       "step-graph"};
  return is_one_of(flag.name, kNames);
}

void refuse_file(const Arguments& arguments, const char* flag, const std::string& end) {
  const std::string path = arguments.get(flag);
  if (!arguments.has(flag) || path.ends_with(end)) return;
  throw UsageError("--" + std::string(flag), path, "has the wrong ending; allowed: FILE" + end,
                   "--" + std::string(flag) + " fit" + end);
}

// check_disk_places() checks the directory before anything runs.
std::string disk_from(const Arguments& arguments) {
  const std::string directory = arguments.get("disk");
  if (arguments.has("disk") && (directory.empty() || directory.find(',') != std::string::npos)) {
    throw UsageError("--disk", directory,
                     "is no directory for --optimizer-offload nvme:DIR; allowed: DIR, no comma in "
                     "its name",
                     "--disk /mnt/nvme");
  }
  return directory;
}

// The techniques that may be used: without those of typed settings, and without --forbid.
std::vector<RunTechnique> techniques_from(const Arguments& arguments, const RunSpec& base,
                                          Open open) {
  std::vector<std::string> typed;
  for (const Field& field : fields()) {
    if (arguments.has(without_dashes(field.flag()))) typed.push_back(field.name);
  }
  if (arguments.has("use-mixed-precision")) typed.emplace_back("precision");
  const auto allowed = listed(arguments, "allow");
  std::vector<RunTechnique> techniques;
  for (const RunTechnique& technique : technique_list(base, arguments.get("disk"))) {
    const bool is_kept = sets_any(technique, typed);
    if (is_kept && std::count(allowed.begin(), allowed.end(), technique.technique) > 0) {
      throw UsageError(
          "--allow", row_of(technique.technique).word,
          "is a technique that sets a value of another given flag; allowed: one of the two",
          "--allow recompute");
    }
    if (is_kept || !is_allowed(arguments, technique.technique)) continue;
    // Any batch fits in micro-batches of one sequence: the question is the size of one micro-batch.
    if (open == Open::kBatch && technique.technique == Technique::kMicroBatches) continue;
    techniques.push_back(technique);
  }
  return techniques;
}

Open open_from(const Arguments& arguments) {
  if (!arguments.has("batch-size") && !arguments.has("global-batch-size")) return Open::kBatch;
  return arguments.has("context-length") ? Open::kNothing : Open::kContext;
}

// Flags of a cell, with the defaults of a search.
std::vector<Flag> flags_of_cells() {
  std::vector<Flag> flags;
  for (Flag& flag : cell_flags()) {
    if (is_of_one_run(flag)) continue;
    if (flag.name == "profile-type") {
      flag.help = "kind of step: " + join(choices_of<Mode>()) + " (default training)";
    } else if (flag.name == "batch-size") {
      flag.help = "sequences per step; without it fit finds the largest";
    } else if (flag.name == "context-length") {
      flag.help = "tokens per sequence; without it, but with --batch-size, fit finds the largest";
    } else if (flag.name == "warmup-steps" || flag.name == "measure-steps") {
      flag.help = flag.help.substr(0, flag.help.find(" (default")) + " (default 2)";
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

}  // namespace

std::vector<Flag> fit_flags() {
  std::vector<Flag> flags = {
      {"card", "CARD,...",
       "card name, as in headroom cards; of several names the smallest that fits", kFit},
      {"bytes", "SIZE", "card memory instead of the real size, for example 20GiB", kFit},
      {"cost-order", "WORD,...",
       "techniques, most expensive first; all others keep their places:\n" + join([] {
         std::vector<std::string> words;
         for (const CostRow& row : cost_table()) {
           if (row.searched != TechniqueScope::kInPlans) words.emplace_back(row.word);
         }
         return words;
       }()),
       kFit},
      {"allow", "WORD,...", "use only these techniques", kFit},
      {"forbid", "WORD,...", "use all techniques but these", kFit},
      {"disk", "DIR", "directory to which states and weights may be offloaded, as nvme:DIR", kFit},
      {"workload", "WORD",
       "step, or ppo for a PPO iteration; see fit --workload ppo --help (default step)", kFit},
      {"answers", "N", "maximum number of answers, 1 to 10 (default 10; with --gpus 3)", kFit}};
  for (Flag& flag : fit_mesh_flags(kFit)) flags.push_back(std::move(flag));
  for (Flag& flag : flags_of_cells()) flags.push_back(std::move(flag));
  flags.push_back(
      {.name = "vary",
       .value = "NAME=FROM..TO",
       .help = "find by bisection the largest {NAME} with which the program after -- runs",
       .group = "Your own program",
       .example = kVaryCommand});
  flags.push_back({.name = "skip-host-init",
                   .help = "same as in headroom dryrun",
                   .group = "Your own program",
                   .example = kSkipsExample});
  for (Flag& flag : limit_flags()) {
    if (flag.name == "host-memory") {
      flag.help =
          "host memory that a run may use, for example 64GiB, in equal parts for its ranks;\n"
          "sets that need more are excluded; 0 = no limit (default)";
    }
    flags.push_back(std::move(flag));
  }
  flags.push_back({"records", "FILE", "JSONL file of cells that ran; the next search reuses them",
                   kOutput, FileUse::kWritten});
  flags.push_back(
      {"output", "FILE.svg", "plot of peak memory against cost", kOutput, FileUse::kWritten});
  flags.push_back({"format", "WORD", "table, csv, md, json (default table)", kOutput});
  return flags;
}

std::vector<FitCard> fit_cards(const Arguments& arguments) {
  constexpr const char* kExample = "--card rtx4090";
  if (!arguments.has("card")) {
    throw UsageError(
        "--card is needed; example: headroom fit --card rtx4090 --model-size 7b --context-length "
        "2048 --batch-size 1");
  }
  const std::vector<std::string> names = parse_list("--card", arguments.get("card"), kExample);
  const std::string bytes = arguments.get("bytes");
  if (!bytes.empty() && names.size() > 1) {
    throw UsageError(
        "--bytes", bytes,
        "sets the memory of one card, and --card names several; allowed: with one card",
        "--card rtx4090 --bytes 20GiB");
  }
  if (bytes == "unlimited") {
    throw UsageError("--bytes", bytes, "means that everything fits; allowed: a size",
                     "--bytes 20GiB");
  }
  std::vector<FitCard> cards;
  for (const std::string& name : names) {
    const VirtualCard chosen = virtual_card({"--card", "--bytes", kExample}, name, bytes);
    cards.push_back({chosen.card, {.kind = DeviceKind::kVirtual, .card = chosen.card.name}});
    cards.back().device.bytes = bytes;
  }
  std::stable_sort(cards.begin(), cards.end(), [](const FitCard& a, const FitCard& b) {
    return a.card.total_bytes < b.card.total_bytes;
  });
  return cards;
}

FitQuestion fit_question(const Arguments& given, const std::vector<FitCard>& cards) {
  Arguments arguments = given;
  if (given.has("skip-host-init")) {
    throw UsageError(std::string("--skip-host-init applies to a program after -- only; example: ") +
                     kSkipsExample);
  }
  refuse_file(given, "output", ".svg");
  arguments.values.erase("output");  // cell_from() would read it as the snapshot
  arguments.values.try_emplace("profile-type", "training");
  arguments.values.try_emplace("warmup-steps", "2");
  arguments.values.try_emplace("measure-steps", "2");
  arguments.values["record-steps"] = "0";
  arguments.values["device"] = to_string(cards.front().device);
  const Open open = open_from(given);
  if (open == Open::kNothing && arguments.get("measure-steps") == "0") {
    throw UsageError("--measure-steps", "0", "measures nothing; allowed: 1 or more",
                     "--measure-steps 2");
  }
  if (open != Open::kNothing && cards.size() > 1) {
    throw UsageError("--card", given.get("card"),
                     "is a list; the search for the smallest card needs one batch and context; "
                     "allowed: with --batch-size and --context-length",
                     "--card rtx4090,l40s --batch-size 4 --context-length 2048");
  }
  FitQuestion question;
  const int64_t gpus = gpus_from(given);
  question.base = gpus > 1 ? base_on_meshes(arguments, gpus) : cell_from(arguments);
  if (gpus > 1) question.meshes = meshes_from(given, question.base, gpus, open);
  question.open = open;
  question.answers = static_cast<size_t>(integer(given, "answers", gpus > 1 ? 3 : 10, 1, 10));
  if (given.has("cost-order")) {
    question.order = CostOrder("--cost-order", given.get("cost-order"));
  }
  question.disk = disk_from(given);
  question.techniques = techniques_from(given, question.base, open);
  const int64_t host =
      given.has("host-memory") ? parse_bytes("--host-memory", given.get("host-memory")) : 0;
  if (host > 0) question.host_limit = host;
  const int64_t trained_for = model_config(question.base).max_context;
  question.most = open == Open::kContext && trained_for > 0 ? trained_for : kLargest;
  return question;
}

}  // namespace headroom
