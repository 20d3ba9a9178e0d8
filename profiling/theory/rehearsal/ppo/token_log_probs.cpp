#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/ppo/losses.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// Like Inputs of train/ppo/losses/token_log_probs.cpp.
struct Inputs {
  ShapeTensor hidden_TD, weight_VD;
  int64_t chunk_tokens;

  int64_t tokens() const { return hidden_TD.size(0); }
  Run& run() const { return *hidden_TD.run; }

  ShapeTensor product(const Dims& sizes, DType dtype) const {
    ShapeTensor made = empty(run(), sizes, dtype);
    run().use_workspace();
    return made;
  }
  ShapeTensor logits(int64_t count) const {
    run().memory.site.operation = "mm";
    return to(product({count, weight_VD.size(0)}, hidden_TD.dtype), DType::kFp32);
  }
  void for_each_chunk(const std::function<void(int64_t count)>& of_chunk) const {
    for (int64_t first = 0; first < tokens(); first += chunk_tokens) {
      of_chunk(std::min(chunk_tokens, tokens() - first));
    }
  }
};

// In no graph; `like` is of the chunk.
ShapeTensor more(const ShapeTensor& like) { return empty_like(like, like.dtype); }

void entropy_of(const ShapeTensor& log_p_CV) {
  const ShapeTensor p_CV = more(log_p_CV);
  const ShapeTensor entropy_C = sum_last(log_p_CV);
}

// The node's inputs and outputs that the two results keep.
struct Kept {
  Saved hidden_TD, weight_VD, tokens_T, log_sums_T, entropy_T;
};

struct Wanted {
  bool hidden, weight;  // gradients
};

Tensors backward_of(const Kept& kept, const PpoSpec& spec, const Wanted& wanted, bool of_entropy) {
  const ShapeTensor hidden_TD = kept.hidden_TD.unpack();
  const ShapeTensor weight_VD = kept.weight_VD.unpack();
  const ShapeTensor tokens_T = kept.tokens_T.unpack();
  const ShapeTensor log_sums_T = kept.log_sums_T.unpack();
  const ShapeTensor entropy_T = kept.entropy_T.unpack();
  const Inputs inputs = {hidden_TD, to(weight_VD, hidden_TD.dtype), spec.chunk_tokens};
  ShapeTensor d_hidden_TD;
  ShapeTensor d_weight_VD;
  if (wanted.hidden) d_hidden_TD = more(hidden_TD);
  if (wanted.weight) d_weight_VD = more(weight_VD);
  inputs.for_each_chunk([&](int64_t count) {
    ShapeTensor d_logits_CV = inputs.logits(count);
    {  // gradient_of_logits()
      const ShapeTensor p_CV = of_entropy ? more(d_logits_CV) : ShapeTensor();
      const ShapeTensor negative_C = empty(inputs.run(), {count}, DType::kFp32);
    }
    d_logits_CV = to(d_logits_CV, hidden_TD.dtype);
    inputs.run().use_workspace();
    if (d_weight_VD.defined() && d_weight_VD.dtype != d_logits_CV.dtype) {
      inputs.product(weight_VD.sizes, d_logits_CV.dtype);
    }
  });
  return {d_hidden_TD, d_weight_VD};
}

// Like cast_for_product().
ShapeTensor cast_for_product(const ShapeTensor& hidden_TD, const ShapeTensor& weight_VD) {
  return to(hidden_TD, hidden_TD.run->autocast.value_or(weight_VD.dtype));
}

// The second result of a node: its gradient waits for the first one's.
void attach_second(ShapeTensor& second, const ShapeTensor& first,
                   const std::shared_ptr<ShapeTensor>& arrived) {
  auto node = std::make_shared<Node>();
  node->name = "ChunkedLogProbs";
  node->sequence = first.made_by->sequence;
  node->next = {first.made_by};
  node->input = {second.sizes, second.dtype};
  node->apply = [arrived](ShapeTensor& gradient) {
    *arrived = gradient;
    return Tensors{ShapeTensor()};
  };
  second.made_by = std::move(node);
}

}  // namespace

ShapeLogProbs token_log_probs(const ShapeTensor& given_TD, const ShapeTensor& weight_VD,
                              const ShapeTensor& tokens_T, const PpoSpec& spec, bool entropy) {
  Run& run = *given_TD.run;
  const ShapeTensor hidden_TD = cast_for_product(given_TD, weight_VD);
  const bool recorded = is_recorded({&hidden_TD, &weight_VD});
  const Wanted wanted = {hidden_TD.requires_grad(), weight_VD.requires_grad()};
  ShapeLogProbs made;
  ShapeTensor log_sums_T;
  ShapeTensor kept_entropy_T;
  {
    const GradMode no_grad(run, false);
    const std::optional<DType> autocast = std::exchange(run.autocast, std::nullopt);
    const Inputs inputs = {hidden_TD, to(weight_VD, hidden_TD.dtype), spec.chunk_tokens};
    run.memory.site.operation = "log_probs";
    const Dims tokens = {inputs.tokens()};
    made.log_probs_T = empty(run, tokens, DType::kFp32);
    log_sums_T = empty(run, tokens, DType::kFp32);
    if (entropy) made.entropy_T = empty(run, tokens, DType::kFp32);
    inputs.for_each_chunk([&](int64_t count) {
      const ShapeTensor log_p_CV = inputs.logits(count);
      const ShapeTensor log_sums_C = logsumexp_last(log_p_CV);
      { const ShapeTensor chosen_C1 = empty(run, {count, 1}, DType::kFp32); }
      if (entropy) entropy_of(log_p_CV);
    });
    if (entropy) kept_entropy_T = more(made.entropy_T);  // clone()
    run.autocast = autocast;
  }
  if (!recorded) return made;
  Node& node = attach("ChunkedLogProbs", made.log_probs_T, {&hidden_TD, &weight_VD});
  const auto of_entropy = std::make_shared<ShapeTensor>();
  Kept kept = {Saved(hidden_TD), Saved(weight_VD), Saved(tokens_T), Saved(log_sums_T), Saved()};
  if (entropy) kept.entropy_T = Saved(kept_entropy_T);
  node.apply = [kept, spec, wanted, of_entropy](ShapeTensor&) {
    const ShapeTensor d_entropy_T = std::exchange(*of_entropy, {});
    return backward_of(kept, spec, wanted, d_entropy_T.defined());
  };
  if (entropy) attach_second(made.entropy_T, made.log_probs_T, of_entropy);
  return made;
}

}  // namespace headroom
