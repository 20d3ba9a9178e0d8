#include "cli/flags/runs/run_flags.h"

#include <algorithm>
#include <utility>

#include "bench/process/virtual_card.h"
#include "bench/sweep/values.h"
#include "plan/recipes/own_shape.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/data/safetensors.h"
#include "train/data/token_file.h"

namespace headroom {
namespace {

std::string value_of(const Field& field, bool list) {
  std::string value = "WORD";
  if (field.numeric()) value = "N";
  if (field.value == FieldValue::kText) value = "TEXT";
  if (field.is_file()) value = "FILE";
  return list && field.separator != '\0' ? value + field.separator + "..." : value;
}

FileUse use_of(const Field& field) {
  if (!field.is_file()) return FileUse::kNone;
  return field.writes_a_file() ? FileUse::kWritten : FileUse::kRead;
}

Flag flag_of(const Field& field, bool list) {
  std::string help = field.help;
  if (!field.choices.empty()) help += ": " + join(field.choices);
  if (field.required) help += "; required";
  if (!field.other_flag.empty()) help += "; also " + field.other_flag;
  const std::string standard = field.get(RunSpec{});
  if (!field.required && !standard.empty() && standard != "0") {
    help += " (default " + standard + ")";
  }
  return {.name = without_dashes(field.flag()),
          .value = value_of(field, list),
          .help = help,
          .group = to_string(field.group),
          .file = use_of(field),
          .alone = field.is_switch() ? "true" : "",
          .example = field.example(),
          .old_name = without_dashes(field.old_flag),
          .other_name = without_dashes(field.other_flag)};
}

std::vector<Flag> run_flags(bool list) {
  std::vector<Flag> flags;
  for (const Field& field : fields()) {
    // A file, or checkpoints, belong to one run.
    if (list && (field.writes_a_file() || field.name == "save_every")) continue;
    flags.push_back(flag_of(field, list));
  }
  if (!list) {
    flags.push_back({.name = "output",
                     .value = "FILE",
                     .help = "same as --snapshot",
                     .group = to_string(FieldGroup::kMeasurement),
                     .file = FileUse::kWritten,
                     .example = "--output snapshot.pickle"});
  }
  flags.push_back({"use-mixed-precision", "", "same as --precision bf16, or the type of --dtype",
                   to_string(FieldGroup::kStep)});
  flags.push_back({.name = "dtype",
                   .value = "WORD",
                   .help = "type for --use-mixed-precision: bf16, fp16 (default bf16)",
                   .group = to_string(FieldGroup::kStep),
                   .example = "--use-mixed-precision --dtype bf16"});
  flags.push_back({.name = "config",
                   .value = "NAME",
                   .help = "public model (llama-3.1-8b, mistral-7b, ...) or the path of a "
                           "config.json, instead of --model-size and its dimensions",
                   .group = to_string(FieldGroup::kModel),
                   .example = "--config llama-3.1-8b"});
  return flags;
}

// Replaces --config by the dimensions in that file.
void spell_out_config(Arguments& arguments) {
  const std::string word = arguments.get("config");
  if (word.empty()) throw UsageError("--config", word, "is empty", "--config llama-3.1-8b");
  for (const std::string flag : {"model-size", "d-model", "d-ff", "layers", "heads", "kv-heads",
                                 "head-dim", "tied-embeddings", "qkv-bias", "qk-norm"}) {
    if (!arguments.has(flag)) continue;
    throw UsageError("--" + flag, arguments.get(flag),
                     "is in the file of --config; give one of them", "--config " + word);
  }
  const ModelConfig shape = own_shape(word);
  arguments.values["model-size"] = shape.name;
  for (const Dimension& dimension : kDimensions) {
    const std::string flag = without_dashes(find_field(dimension.name)->flag());
    if (!arguments.has(flag)) arguments.values[flag] = std::to_string(shape.*dimension.size);
  }
  for (const LayerSwitch& layer : kLayerSwitches) {
    if (shape.*layer.on) arguments.values[without_dashes(find_field(layer.name)->flag())] = "true";
  }
}

// Replaces the assignment's names by ours.
Arguments without_aliases(Arguments arguments) {
  auto& values = arguments.values;
  if (arguments.has("dtype") && !arguments.has("use-mixed-precision")) {
    throw UsageError("--dtype", values["dtype"],
                     "has no effect without --use-mixed-precision; give both, or --precision",
                     "--use-mixed-precision --dtype bf16");
  }
  if (arguments.has("use-mixed-precision")) {
    if (arguments.has("precision")) {
      throw UsageError("--precision", values["precision"],
                       "conflicts with --use-mixed-precision; give one of them",
                       "--precision bf16");
    }
    const std::string dtype = arguments.get("dtype", "bf16");
    check_choice("--dtype", dtype, {"bf16", "fp16"}, "--use-mixed-precision --dtype bf16");
    values["precision"] = dtype;
  }
  if (arguments.has("output")) {
    if (arguments.has("snapshot")) {
      throw UsageError("--snapshot", values["snapshot"],
                       "conflicts with --output, the same file; give one of them",
                       "--output snapshot.pickle");
    }
    values["snapshot"] = values["output"];
  }
  if (arguments.has("config")) spell_out_config(arguments);
  if (!arguments.has("model-size")) {
    throw UsageError("--model-size: is required; allowed: " + join(model_size_names()) +
                     " (example: --model-size small)");
  }
  return arguments;
}

// Refuses an invalid file before any cell starts. Token ids are checked only if there is a single
// vocabulary.
void check_inputs(const RunSpec& spec, bool one_cell) {
  if (!spec.tokens.empty()) {
    const TokenFile file(spec.tokens, spec.token_type);
    const int64_t steps = all_steps(spec);
    if (one_cell) {
      file.check_ids(model_config(spec).vocab_size, spec.batch_size * spec.context_length, steps);
    }
  }
  if (!spec.load_weights.empty()) const SafetensorsFile file(spec.load_weights);
}

// In a grid every cell would save to the same directory, or continue the same run.
void refuse_checkpoints(const RunSpec& spec) {
  const auto refuse = [](const std::string& flag, const std::string& directory) {
    if (directory.empty()) return;
    throw UsageError(flag, directory,
                     "belongs to one run, and a sweep makes many; allowed with profile",
                     "headroom profile --model-size small --profile-type training --device cpu " +
                         flag + " checkpoints");
  };
  refuse("--save-checkpoint", spec.save_checkpoint);
  refuse("--load-checkpoint", spec.load_checkpoint);
}

}  // namespace

std::vector<Flag> cell_flags() { return run_flags(false); }

std::vector<Flag> grid_flags() {
  std::vector<Flag> flags = run_flags(true);
  for (Flag& flag : flags) {  // for one run only: refuse_checkpoints()
    if (!flag.name.ends_with("-checkpoint")) continue;
    flag.example = "headroom profile --model-size small " + flag.example;
  }
  return flags;
}

std::vector<Flag> limit_flags() {
  return {{"deadline", "SECONDS", "stop a run after this time, with status timeout; 0 = never",
           "Limits"},
          {"host-memory", "SIZE",
           "limit of host allocations, pinned memory included, for example 20GiB;\n"
           "0 = no limit (default 90 % of the available memory, container limits\n"
           "included; no limit on a virtual card)",
           "Limits"}};
}

namespace {

// The example is the list's first word, if valid; not a number, which may be too small for other
// settings.
[[noreturn]] void refuse_list(const Field& field, const std::string& typed) {
  const std::string first = values_of(field, typed).front();
  std::string example = field.example();
  try {
    std::vector<RunSpec> tried = {{.model_size = "small", .profile_type = Mode::kTraining}};
    field.set(tried.front(), first);
    validate(tried.front());
    settle_devices(tried);
    if (!field.numeric()) example = field.flag() + " " + first;
  } catch (const UsageError&) {  // reported below, with the typed text
  }
  throw UsageError(field.flag(), typed,
                   "is a list, which only sweep accepts; allowed here: one value", example);
}

}  // namespace

RunSpec typed_over(RunSpec spec, const Arguments& given) {
  const Arguments arguments = without_aliases(given);
  for (const Field& field : fields()) {
    const std::string name = without_dashes(field.flag());
    if (!arguments.has(name)) continue;
    const std::string value = arguments.get(name);
    if (field.separator == ',' && values_of(field, value).size() > 1) refuse_list(field, value);
    field.set(spec, value);
  }
  return spec;
}

RunSpec cell_from(const Arguments& arguments) {
  const RunSpec spec = typed_over({}, arguments);
  validate(spec);
  check_inputs(spec, /*one_cell=*/true);
  std::vector<RunSpec> settled = {spec};
  settle_devices(settled);
  return settled.front();
}

SweepGrid grid_from(const Arguments& given) {
  const Arguments arguments = without_aliases(given);
  SweepGrid grid;
  grid.base.model_size = "";  // always set by its axis
  for (const Field& field : fields()) {
    const std::string name = without_dashes(field.flag());
    if (!arguments.has(name)) continue;
    const std::string value = arguments.get(name);
    std::vector<std::string> values = values_of(field, value);
    if (field.separator == ',' || values.size() > 1) {
      grid.axes.push_back({.field = field.name, .values = std::move(values)});
    } else {
      field.set(grid.base, value);
    }
  }
  refuse_checkpoints(grid.base);
  check_inputs(grid.base, /*one_cell=*/false);
  return grid;
}

Flag disk_rate_flag() {
  return {
      .name = "disk-rate",
      .value = "RATE",
      .help =
          "bytes read and written per second on the disk of nvme: files, for example\n7GB/s; gives "
          "the least time of a step (default the limit of PCIe 4.0 x4)",
      .group = to_string(FieldGroup::kMeasurement),
      .example = "--profile-type training --optimizer-offload nvme:/tmp --disk-rate 7GB/s"};
}

DiskRate disk_rate_from(const Arguments& arguments, const RunSpec& spec) {
  if (!arguments.has("disk-rate")) return {};
  const std::string text = arguments.get("disk-rate");
  const DiskRate rate = parse_disk_rate("--disk-rate", text);
  if (spec.optimizer_offload.space != MemorySpace::kDisk &&
      spec.param_offload.space != MemorySpace::kDisk) {
    throw UsageError("--disk-rate", text,
                     "is the rate of a disk, and this run keeps nothing on a disk; allowed with "
                     "--optimizer-offload nvme:DIR or --param-offload nvme:DIR",
                     "--profile-type training --optimizer-offload nvme:/tmp --disk-rate " + text);
  }
  return rate;
}

void settle_devices(std::vector<RunSpec>& specs) {
  for (RunSpec& spec : specs) {
    spec.device = settled(spec.device);
    if (is_virtual(spec)) virtual_card(spec.device);  // refused here, before any cell starts
  }
}

CellOptions limits_from(const Arguments& arguments) {
  CellOptions options{.host_memory_bytes = default_host_memory()};
  if (arguments.has("deadline")) {
    options.deadline_seconds = parse_number("--deadline", arguments.get("deadline"), 0, 1e7);
  }
  if (arguments.has("host-memory")) {
    options.host_memory_bytes = parse_bytes("--host-memory", arguments.get("host-memory"));
    options.virtual_host_memory_bytes = options.host_memory_bytes;
  }
  return options;
}

std::string format_from(const Arguments& arguments) {
  const std::string format = arguments.get("format", "table");
  if (format == "text") return "table";
  check_choice("--format", format, {"table", "csv", "md", "json", "jsonl"}, "--format md");
  return format;
}

}  // namespace headroom
