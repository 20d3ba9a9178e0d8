#include "cli/flags/run_flags.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "bench/process/virtual_card.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/data/safetensors.h"
#include "train/data/token_file.h"

namespace headroom {
namespace {

// "--alloc-conf a:1,b:2" is one value; a path may hold a comma.
bool takes_list(const Field& field) {
  static const std::set<std::string> kSingle = {"alloc_conf", "tokens", "load_weights", "snapshot",
                                                "save_weights"};
  return kSingle.count(field.name) == 0;
}

bool writes_a_file(const Field& field) {
  return field.name == "snapshot" || field.name == "save_weights";
}

std::string group_of(const Field& field) {
  static const std::set<std::string> kModel = {"model_size", "d_model",    "d_ff",
                                               "layers",     "heads",      "kv_heads",
                                               "vocab_size", "batch_size", "context_length"};
  static const std::set<std::string> kMeasured = {"warmup_steps", "measure_steps", "record_steps",
                                                  "stacks",       "max_entries",   "snapshot",
                                                  "save_weights"};
  if (kModel.count(field.name) > 0) return "Model and batch";
  return kMeasured.count(field.name) > 0 ? "What is measured and written" : "How a step runs";
}

std::string value_of(const Field& field, bool list) {
  std::string value = field.numeric ? "N" : "WORD";
  if (field.name == "alloc_conf") return list ? "TEXT;..." : "TEXT";
  if (!takes_list(field)) value = "FILE";
  return list && takes_list(field) ? value + ",..." : value;
}

Flag flag_of(const Field& field, bool list) {
  std::string help = field.help;
  std::string choices = join(field.choices);
  if (field.name == "model_size") choices = join(model_size_names()) + "; required";
  if (!choices.empty()) help += ": " + choices;
  const std::string standard = field.get(RunSpec{});
  const bool has_default = !standard.empty() && field.name != "model_size" && standard != "0";
  if (has_default) help += " (default " + standard + ")";
  return {.name = field.flag().substr(2),
          .value = value_of(field, list),
          .help = help,
          .group = group_of(field)};
}

std::vector<Flag> run_flags(bool list) {
  std::vector<Flag> flags;
  for (const Field& field : fields()) {
    if (list && writes_a_file(field)) continue;
    flags.push_back(flag_of(field, list));
  }
  if (!list) {
    flags.push_back({"output", "FILE", "same as --snapshot", "What is measured and written"});
  }
  flags.push_back({"use-mixed-precision", "", "same as --precision bf16, or what --dtype says",
                   "How a step runs"});
  flags.push_back({"dtype", "WORD", "with --use-mixed-precision: bf16, fp16 (default bf16)",
                   "How a step runs"});
  std::stable_sort(flags.begin(), flags.end(), [](const Flag& a, const Flag& b) {
    static const std::vector<std::string> kOrder = {"Model and batch", "How a step runs",
                                                    "What is measured and written"};
    const auto place = [](const Flag& flag) {
      return std::find(kOrder.begin(), kOrder.end(), flag.group);
    };
    return place(a) < place(b);
  });
  return flags;
}

// Our names put in the place of the assignment's.
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
  if (!arguments.has("model-size")) {
    throw UsageError("--model-size: is required; allowed: " + join(model_size_names()) +
                     " (example: --model-size small)");
  }
  return arguments;
}

// Allocator settings hold commas, so a list of them is parted by semicolons; "default" is none.
std::vector<std::string> allocator_settings(const std::string& text) {
  std::vector<std::string> values;
  std::istringstream stream(text);
  for (std::string value; std::getline(stream, value, ';');) {
    values.push_back(value == "default" ? "" : value);
  }
  return values;
}

// The values of a list flag. "virtual:h200,bytes=80GiB" is one device.
std::vector<std::string> values_of(const Field& field, const std::string& text) {
  std::vector<std::string> values = parse_list(field.flag(), text);
  for (size_t i = 1; field.name == "device" && i < values.size();) {
    if (values[i].find('=') != std::string::npos) {
      values[i - 1] += "," + values[i];
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return values;
}

// A file that cannot serve is refused here, before any cell starts. Token ids are looked at only
// where there is one vocabulary to hold them against.
void check_inputs(const RunSpec& spec, bool one_cell) {
  if (!spec.tokens.empty()) {
    const TokenFile file(spec.tokens, spec.token_type);
    const int64_t steps = spec.warmup_steps + spec.measure_steps + spec.record_steps;
    if (one_cell) {
      file.check_ids(model_config(spec).vocab_size, spec.batch_size * spec.context_length, steps);
    }
  }
  if (!spec.load_weights.empty()) const SafetensorsFile file(spec.load_weights);
}

}  // namespace

std::vector<Flag> cell_flags() { return run_flags(false); }
std::vector<Flag> grid_flags() { return run_flags(true); }

std::vector<Flag> limit_flags() {
  return {
      {"deadline", "SECONDS", "stop a run after this long (status timeout); 0 = never", "Limits"},
      {"host-memory", "SIZE",
       "refuse host allocations beyond this, 20GiB for one; 0 = never\n(default 90 % of what is "
       "available, containers counted)",
       "Limits"}};
}

RunSpec cell_from(const Arguments& given) {
  const Arguments arguments = without_aliases(given);
  RunSpec spec;
  for (const Field& field : fields()) {
    const std::string name = field.flag().substr(2);
    if (!arguments.has(name)) continue;
    const std::string value = arguments.get(name);
    if (takes_list(field) && values_of(field, value).size() > 1) {
      throw UsageError(field.flag(), value, "is a list, and profile runs one cell; use sweep",
                       "headroom sweep --model-size small " + field.flag() + " " + value);
    }
    field.set(spec, value);
  }
  validate(spec);
  check_inputs(spec, /*one_cell=*/true);
  std::vector<RunSpec> settled = {spec};
  settle_devices(settled);
  return settled.front();
}

Grid grid_from(const Arguments& given) {
  const Arguments arguments = without_aliases(given);
  Grid grid;
  grid.base.model_size = "";  // always set by its axis
  for (const Field& field : fields()) {
    const std::string name = field.flag().substr(2);
    if (!arguments.has(name)) continue;
    const std::string value = arguments.get(name);
    if (field.name == "alloc_conf" && value.find(';') != std::string::npos) {
      grid.axes.push_back({.field = field.name, .values = allocator_settings(value)});
    } else if (takes_list(field)) {
      grid.axes.push_back({.field = field.name, .values = values_of(field, value)});
    } else {
      field.set(grid.base, value);
    }
  }
  check_inputs(grid.base, /*one_cell=*/false);
  return grid;
}

void settle_devices(std::vector<RunSpec>& specs) {
  for (RunSpec& spec : specs) {
    spec.device = memory_device(spec.device);
    if (is_virtual(spec)) parse_virtual_card(spec.device);
  }
}

CellOptions limits_from(const Arguments& arguments) {
  CellOptions options{.host_memory_bytes = default_host_memory()};
  if (arguments.has("deadline")) {
    options.deadline_seconds = parse_number("--deadline", arguments.get("deadline"), 0, 1e7);
  }
  if (arguments.has("host-memory")) {
    options.host_memory_bytes = parse_bytes("--host-memory", arguments.get("host-memory"));
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
