#include "cli/flags/runs/ppo_flags.h"

#include <algorithm>
#include <string>

#include "bench/launch/preparation/ppo_card.h"
#include "cli/flags/runs/run_flags.h"
#include "cli/flags/setup_file.h"
#include "profiling/theory/activations/layers/attention_kernel.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/generate/rules.h"
#include "train/offload/disk/places.h"
#include "train/ppo/setup/role_rules.h"

namespace headroom {
namespace {

std::string help_of(const PpoField& field) {
  std::string help = field.help;
  if (!field.choices.empty()) help += ": " + join(field.choices);
  const std::string usual = field.get(PpoSetup{});
  return usual.empty() ? help : help + " (default " + usual + ")";
}

std::string value_of(const PpoField& field) {
  const std::string usual = field.get(PpoSetup{});
  const bool is_number =
      !usual.empty() && usual.find_first_not_of("0123456789.") == std::string::npos;
  return is_number ? "N" : "WORD";
}

std::string example_of_field(const PpoField& field) {
  if (field.is_switch) return field.flag();
  const std::string usual = field.get(PpoSetup{});
  if (!usual.empty()) return field.flag() + " " + usual;
  return field.flag() + (field.name.ends_with("_size") ? " actor" : " 0.4");
}

// Internally "" is the actor's shape; on the command line it is the word "actor".
void refuse_no_shape(const PpoField& field, const std::string& text) {
  if (!text.empty() || !field.name.ends_with("_size")) return;
  throw UsageError(field.flag(), text, "is empty; allowed: a named shape, or actor",
                   example_of_field(field));
}

// The field's example, rewritten for this role.
std::string example_of_role(const RoleField& one) {
  PpoSetup setup;
  setup.of_role[one.role][one.field->name] = "";
  const std::string line = "(example: " + one.field->example() + ")";
  return UsageError(said_of_role(line, one.role, setup)).example();
}

PpoSetup setup_from(const Arguments& arguments) {
  PpoSetup setup;
  for (const PpoField& field : ppo_fields()) {
    const std::string name = without_dashes(field.flag());
    if (!arguments.has(name)) continue;
    refuse_no_shape(field, arguments.get(name));
    field.set(field.flag(), setup, arguments.get(name));
  }
  for (const RoleField& one : role_fields()) {
    const std::string name = without_dashes(one.flag());
    if (!arguments.has(name)) continue;
    setup.of_role[one.role][one.field->name] = arguments.get(name);
    try {
      RunSpec tried;
      one.field->set(tried, arguments.get(name));  // refuses an invalid value here
    } catch (const UsageError& error) {
      throw UsageError(said_of_role(error.what(), one.role, setup));
    }
  }
  return setup;
}

// The given lengths determine the context; the default temperature samples.
RunSpec shared_from(Arguments arguments) {
  RunSpec base;
  base.temperature = 1;
  base.batch_size = 4;
  base.max_grad_norm = 1;
  arguments.values.erase("output");  // typed_over() would read it as the snapshot
  RunSpec spec = typed_over(base, arguments);
  if (!arguments.has("context-length") && spec.prompt_len > 0 && spec.response_len > 0) {
    spec.context_length = spec.prompt_len + spec.response_len;
  }
  return spec;
}

void check_share(const Arguments& arguments, const RunSpec& shared) {
  const std::string flag = "--gpu-memory-utilization";
  const std::string value = arguments.get("gpu-memory-utilization");
  if (arguments.has("kv-cache-tokens")) {
    throw UsageError(
        flag, value,
        "conflicts with --kv-cache-tokens, the same size in tokens; allowed: one of them",
        flag + " 0.4");
  }
  if (shared.device.kind == DeviceKind::kCpu) {
    throw UsageError(flag, value, "needs a card, and --device cpu is none; allowed: on a card",
                     flag + " 0.4 --device virtual:h200");
  }
}

}  // namespace

std::vector<Flag> ppo_flags() {
  std::vector<Flag> flags;
  std::vector<std::string> left_out = {"output"};  // here it is the timeline
  for (const Field& field : fields()) {
    if (!is_of_iterations(field)) left_out.push_back(without_dashes(field.flag()));
  }
  for (Flag& flag : cell_flags()) {
    if (std::find(left_out.begin(), left_out.end(), flag.name) == left_out.end()) {
      flags.push_back(std::move(flag));
    }
  }
  for (const PpoField& field : ppo_fields()) {
    flags.push_back({.name = without_dashes(field.flag()),
                     .value = value_of(field),
                     .help = help_of(field),
                     .group = "Iteration",
                     .alone = field.is_switch ? "true" : "",
                     .example = example_of_field(field)});
  }
  for (const RoleField& one : role_fields()) {
    flags.push_back({.name = without_dashes(one.flag()),
                     .value = one.field->numeric()   ? "N"
                              : one.field->is_file() ? "FILE"
                                                     : "WORD",
                     .help = one.field->flag() + " for the " + word_of(one.role) + " model",
                     .group = "Settings of one role",
                     .file = one.field->is_file() ? FileUse::kRead : FileUse::kNone,
                     .example = example_of_role(one),
                     .old_name = without_dashes(one.old_flag())});
  }
  flags.push_back(setup_flag());
  return flags;
}

PpoRun ppo_run_from(const Arguments& arguments) {
  PpoRun run{.shared = shared_from(arguments), .setup = setup_from(arguments)};
  validate(run.shared, run.setup);
  std::vector<RunSpec> settled = {run.shared};
  settle_devices(settled);
  run.shared = settled.front();
  if (run.setup.gpu_memory_utilization > 0) check_share(arguments, run.shared);
  settle_on_card(run.shared, run.setup);
  const std::vector<RunSpec> roles = role_specs(run.shared, run.setup);
  for (const RunSpec& role : roles) check_attention(role);
  check_disk_places(roles);
  return run;
}

}  // namespace headroom
