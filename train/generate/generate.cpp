#include "train/generate/generate.h"

#include <utility>

#include "train/generate/rules.h"
#include "train/step.h"
#include "train/techniques/precision.h"

namespace headroom {

using torch::Tensor;

Generation generation_of(const RunSpec& spec, torch::Device device) {
  return {.response_len = response_tokens(spec),
          .decodes_run = decodes_run(spec),
          .prefill_chunk = spec.prefill_chunk,
          .end_token = spec.end_token,
          .decode_graph = spec.decode_graph && device.is_cuda(),
          .sampling = {.temperature = spec.temperature, .top_k = spec.top_k, .top_p = spec.top_p},
          .seed = static_cast<uint64_t>(spec.seed),
          .cache = kv_cache_shape(spec)};
}

// One guard for all passes: without a graph, autocast's casts live as long as the guard.
Generated generate(Step& step, Generation settings, const Prompts& prompts) {
  const torch::NoGradGuard no_grad;
  const AutocastGuard autocast(step.precision(), step.device().type(), step.tags(),
                               step.model()->parameters());
  // In inference mode autocast caches no casts, so it would cast weights for every product; and
  // parameter offload keeps tensors made during the run.
  const bool in_inference_mode = !uses_autocast(step.precision()) && !step.layout.offloaded;
  if (step.tags() != nullptr) settings.decodes_run = 0;
  Generator generator(
      step.model(), settings, [&step](const Tensor& tokens_1T) { return step.logits(tokens_1T); },
      in_inference_mode);
  return generator.run(prompts, step.scopes(), step.tags());
}

Task GenerationSchedule::run(const std::vector<MicroBatch>& parts, const Compute& /*forward*/,
                             const Compute& /*backward*/) {
  for (const MicroBatch& part : parts) {
    const std::vector<int64_t> lengths(static_cast<size_t>(part.tokens_BS.size(0)),
                                       part.tokens_BS.size(1));
    graph_pool_bytes_ = generate(step_, settings_, {part.tokens_BS, lengths}).graph_pool_bytes;
  }
  return {};
}

void apply_generation(const BuildRequest& request, Step& step) {
  const RunSpec& spec = request.spec;
  if (spec.profile_type != Mode::kGenerate) return;
  if (spec.decode_graph && !step.device().is_cuda()) {
    request.note({"--decode-graph changes nothing: there is no CUDA here"});
  }
  if (is_forced(spec.attention)) {
    request.note({"--attention " + to_string(spec.attention) +
                  " computes prompts from their first token on; later chunks and decode need a "
                  "mask, and libtorch chooses their kernel"});
  }
  step.schedule = std::make_unique<GenerationSchedule>(step, generation_of(spec, step.device()));
}

}  // namespace headroom
