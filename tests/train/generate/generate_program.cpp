// Generates on request, for an interleaved comparison with another program.
//
// usage: generate_program SPEC_JSON WEIGHTS_FILE
// Writes the model's weights to the file and prints one line. Then, for each line on stdin, one
// generation of the spec's first batch: a line of JSON with its tokens and milliseconds.
#include <ATen/Parallel.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "train/build.h"
#include "train/data/data.h"
#include "train/generate/generate.h"
#include "train/hooks/listening.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

struct Phases final : ScopeListener {
  void on_scope(const Scope& scope, bool begins) override {
    if (scope.kind != ScopeKind::kPhase) return;
    if (begins) {
      began = Clock::now();
    } else {
      ms[scope.name] = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
    }
  }
  Clock::time_point began;
  nlohmann::json ms;
};

nlohmann::json rows(const torch::Tensor& tokens_BT) {
  nlohmann::json all = nlohmann::json::array();
  for (int64_t i = 0; i < tokens_BT.size(0); ++i) {
    const torch::Tensor row = tokens_BT[i].contiguous();
    const auto* begin = row.const_data_ptr<int64_t>();
    all.push_back(std::vector<int64_t>(begin, begin + row.numel()));
  }
  return all;
}

void serve(const RunSpec& spec, const std::string& weights_file) {
  if (spec.threads > 0) at::set_num_threads(static_cast<int>(spec.threads));
  std::vector<std::string> notes;
  const auto step = build_step(spec, torch::kCPU, &notes);
  save_weights(step->weights(), weights_file);
  const Batch batch = Data(spec, model_config(spec).vocab_size, torch::kCPU, 1).batch(0);
  const std::vector<int64_t> lengths(static_cast<size_t>(spec.batch_size), batch.tokens_BS.size(1));
  std::cout << nlohmann::json{{"prompts", rows(batch.tokens_BS)}}.dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    Phases phases;
    const Listening listening(*step, &phases);
    const auto began = Clock::now();
    const Generated generated =
        generate(*step, generation_of(spec, torch::kCPU), {batch.tokens_BS, lengths});
    phases.ms["all"] = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
    std::cout << nlohmann::json{{"tokens", rows(generated.tokens_BT)}, {"ms", phases.ms}}.dump()
              << std::endl;
  }
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: generate_program SPEC_JSON WEIGHTS_FILE\n");
    return 2;
  }
  const headroom::RunSpec spec = headroom::spec_from_json(nlohmann::json::parse(argv[1]));
  headroom::validate(spec);
  headroom::serve(spec, argv[2]);
  return 0;
}
