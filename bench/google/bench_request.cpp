#include "bench/google/bench_request.h"

#include <algorithm>
#include <iostream>
#include <map>

#include "bench/google/library_flags.h"
#include "bench/process/host_memory.h"
#include "bench/sweep/sweep.h"
#include "bench/sweep/values.h"
#include "cards/cards.h"
#include "profiling/flops.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using Values = std::map<std::string, std::string>;  // by flag, "--context-length"

// The assignment's axes: always part of the name.
Values default_axes(bool has_card) {
  return {{"--model-size", has_card ? "small,medium,large,xl,2.7B,10B" : "small"},
          {"--context-length", "128,256,512"},
          {"--profile-type", "forward,training"},
          {"--precision", "fp32,bf16"}};
}

// The current flag of another spelling; an old one is reported.
std::string current_flag(const std::string& typed) {
  const Field* const field = find_flag(typed);
  if (field == nullptr) return typed;
  if (typed == field->old_flag) {
    std::cerr << "headroom_bench: " << renamed(typed, field->flag()) << '\n';
  }
  return field->flag();
}

void check_known(const std::string& word) {
  std::vector<std::string> known = {"--help", "--host-memory", "--peak-flops"};
  for (const Field& field : fields()) {
    if (field.timed) known.push_back(field.flag());
  }
  if (is_one_of(word, known)) return;
  if (!word.starts_with("-")) refuse_argument(word);
  refuse_option(word, known);
}

// Our own "--flag value" and "--flag=value"; the library's arguments go to `library_flags`.
Values split(int argc, const char* const* argv, std::vector<std::string>& library_flags) {
  Values values;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (is_library_flag(argument)) {
      library_flags.push_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string flag = current_flag(argument.substr(0, equals));
    check_known(flag);
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (const Field* field = find_flag(flag); field != nullptr && field->is_switch()) {
      value = "true";
    } else if (i + 1 < argc && !std::string(argv[i + 1]).starts_with("--")) {
      value = argv[++i];
    } else {
      throw UsageError(flag + ": needs a value");
    }
    if (!values.emplace(flag, value).second) {
      throw UsageError(flag, value, "is a second value; give one list", flag + " A,B");
    }
  }
  return values;
}

std::string name_of(const RunSpec& spec, const std::vector<Axis>& axes) {
  // Changed dimensions of a named size make another model.
  const bool changed = spec.model_size != "custom" && model_config(spec).name == "custom";
  std::string name = "step/" + spec.model_size + (changed ? "-custom" : "") + "/ctx" +
                     std::to_string(spec.context_length) + "/" + to_string(spec.profile_type) +
                     "/" + state_precision(spec).name;
  const RunSpec defaults;
  for (const Axis& axis : axes) {
    const Field& field = *find_field(axis.field);
    if (field.in_name == InName::kAlways) continue;
    // "-custom" stands for the model's dimensions.
    const bool is_chosen =
        (field.group == FieldGroup::kStep || field.group == FieldGroup::kGeneration) &&
        field.in_name == InName::kIfChanged && field.get(spec) != field.get(defaults);
    if (axis.values.size() < 2 && !is_chosen) continue;
    name += "/" + with_dashes(field.name) + ":" + field.get(spec);
  }
  return name;
}

std::vector<StepCase> cases_from(Values values, bool has_card, bool fixed_iterations) {
  values.merge(default_axes(has_card));
  RunSpec base;
  base.warmup_steps = values.contains("--step-graph") ? 2 : 1;  // the second is captured
  base.measure_steps = 3;
  base.record_steps = 0;
  std::vector<Axis> axes;
  for (const Field& field : fields()) {
    const auto given = values.find(field.flag());
    if (given == values.end()) continue;
    axes.push_back({field.name, values_of(field, given->second)});
  }
  std::vector<StepCase> cases;
  for (RunSpec& spec : expand(base, axes)) {
    const bool on_card =
        spec.device.kind == DeviceKind::kAuto ? has_card : spec.device.kind != DeviceKind::kCpu;
    if (values.count("--measure-steps") == 0 && on_card) spec.measure_steps = 10;
    cases.push_back({name_of(spec, axes), spec, fixed_iterations});
  }
  return cases;
}

bool asks_for_help(int argc, const char* const* argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* argument) {
    return std::string(argument) == "--help" || std::string(argument) == "-h";
  });
}

}  // namespace

BenchRequest parse_request(int argc, const char* const* argv, bool has_card) {
  BenchRequest request;
  request.help = asks_for_help(argc, argv);
  if (request.help) return request;
  const Values values = split(argc, argv, request.library_flags);
  const bool searches = library_value(request.library_flags, "--benchmark_min_time").has_value();
  request.cases = cases_from(values, has_card, !searches);
  const auto memory = values.find("--host-memory");
  request.host_memory_bytes =
      memory == values.end() ? default_host_memory() : parse_bytes("--host-memory", memory->second);
  if (const auto peak = values.find("--peak-flops"); peak != values.end()) {
    request.peak_flops = parse_number("--peak-flops", peak->second, 1, 1e18);
  } else {
    cards();  // a bad HEADROOM_CARDS fails here, not in the middle of the table
  }
  return request;
}

std::string bench_help() {
  std::string text =
      "headroom_bench [flags]\n"
      "Times training steps with Google Benchmark: one benchmark per combination of the values,\n"
      "named step/<size>/ctx<N>/<mode>/<precision>. Lists are written 128,256,512.\n\n";
  const auto row = [&](const std::string& flag, const std::string& help) {
    text += "  " + flag + std::string(flag.size() < 20 ? 20 - flag.size() : 1, ' ') + help + "\n";
  };
  for (const Field& field : fields()) {
    if (!field.timed) continue;
    const std::string choices = join(field.choices, "|");
    row(field.flag(), field.help + (choices.empty() ? "" : ": " + choices));
  }
  row("--host-memory", "limit of CPU tensor memory, for example 20GiB; 0 = no limit");
  row("", "(default 90 % of the available memory, container limits included)");
  row("--peak-flops", "peak FLOP/s for MFU, for example 989.4e12");
  row("", "(default: the peak in headroom cards, none for CPUs)");
  return text +
         "\nDefaults: sizes small (with a card: the six of the assignment), contexts 128,256,512,\n"
         "modes forward,training, precisions fp32,bf16; 1 warm-up step, then 3 steps (10 on a\n"
         "card), or as many as --benchmark_min_time requires. Time: CUDA events around the step "
         "on\n"
         "a card, otherwise the host's clock. Counters: tokens/s; FLOP/s; MFU; "
         "peak_allocated_bytes of\n"
         "the timed steps (the console shows it with 1024-based k, M, G).\n"
         "  FLOPs = " +
         std::string(kFlopsFormula) + "\n  MFU = " + kMfuFormula +
         "\n\n"
         "A cell that does not fit has error_message \"oom: ...\" and the others still run. All "
         "cells\n"
         "share this process; for long or risky grids use headroom sweep: one process per cell,\n"
         "each Record saved as its cell ends. --benchmark_out is written whole, at the end.\n\n"
         "Exit codes: 0 ok; 2 usage, or a filter that matches nothing; 3 some cells failed;\n"
         "  4 all cells failed; 5 environment (no such device, not writable).\n\n";
}

}  // namespace headroom
