#include "train/ppo/losses/token_log_probs.h"

#include <ATen/autocast_mode.h>

#include <algorithm>

namespace headroom {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Type of a token's numbers.
at::ScalarType wide(const Tensor& hidden) {
  return at::promote_types(hidden.scalar_type(), torch::kFloat32);
}

// The rows of a chunk; undefined for an undefined tensor.
Tensor rows(const Tensor& of_tokens, int64_t first, int64_t count) {
  return of_tokens.defined() ? of_tokens.narrow(0, first, count) : of_tokens;
}

// The inputs of one call; weight_VD has the type of the products.
struct Inputs {
  Tensor hidden_TD, weight_VD, tokens_T;
  double temperature;
  int64_t chunk_tokens;

  int64_t tokens() const { return hidden_TD.size(0); }
  // z, (C, V), in the wide type; a new tensor.
  Tensor logits(int64_t first, int64_t count) const {
    const Tensor product_CV = at::mm(rows(hidden_TD, first, count), weight_VD.t());
    Tensor logits_CV = product_CV.to(wide(hidden_TD));
    if (temperature != 1) logits_CV.div_(temperature);
    return logits_CV;
  }
  template <typename OfChunk>  // (first, count)
  void for_each_chunk(const OfChunk& of_chunk) const {
    for (int64_t first = 0; first < tokens(); first += chunk_tokens) {
      of_chunk(first, std::min(chunk_tokens, tokens() - first));
    }
  }
};

// -sum p log p of each row; overwrites log_p_CV.
Tensor entropy_of(Tensor log_p_CV) {
  const Tensor p_CV = log_p_CV.exp();
  return log_p_CV.mul_(p_CV).sum(-1).neg_();
}

// The gradient of z for one chunk, in log_p_CV's memory. An undefined gradient is 0.
Tensor gradient_of_logits(Tensor log_p_CV, const Tensor& tokens_C, const Tensor& entropy_C,
                          const Tensor& d_log_prob_C, const Tensor& d_entropy_C) {
  const auto column = [](const Tensor& of_tokens) { return of_tokens.unsqueeze(-1); };
  if (d_entropy_C.defined()) {
    const Tensor p_CV = log_p_CV.exp();
    log_p_CV.add_(column(entropy_C)).mul_(column(d_entropy_C.neg()));
    if (d_log_prob_C.defined()) log_p_CV.sub_(column(d_log_prob_C));
    log_p_CV.mul_(p_CV);
  } else {
    log_p_CV.exp_().mul_(column(d_log_prob_C.neg()));
  }
  if (d_log_prob_C.defined()) {
    log_p_CV.scatter_add_(-1, column(tokens_C), column(d_log_prob_C));
  }
  return log_p_CV;
}

class ChunkedLogProbs : public torch::autograd::Function<ChunkedLogProbs> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& hidden_TD,
                               const Tensor& weight_VD, const Tensor& tokens_T,
                               const LogProbOptions& options) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const Inputs inputs = {hidden_TD, weight_VD.to(hidden_TD.scalar_type()), tokens_T,
                           options.temperature, options.chunk_tokens};
    const auto numbers = hidden_TD.options().dtype(wide(hidden_TD));
    const Tensor log_probs_T = torch::empty({inputs.tokens()}, numbers);
    const Tensor log_sums_T = torch::empty({inputs.tokens()}, numbers);
    const Tensor entropy_T = options.entropy ? torch::empty({inputs.tokens()}, numbers) : Tensor();
    inputs.for_each_chunk([&](int64_t first, int64_t count) {
      Tensor log_p_CV = inputs.logits(first, count);
      const Tensor log_sums_C = log_p_CV.logsumexp(-1);
      rows(log_sums_T, first, count).copy_(log_sums_C);
      log_p_CV.sub_(log_sums_C.unsqueeze(-1));
      const Tensor tokens_C1 = rows(tokens_T, first, count).unsqueeze(-1);
      rows(log_probs_T, first, count).copy_(log_p_CV.gather(-1, tokens_C1).squeeze(-1));
      if (options.entropy) {
        rows(entropy_T, first, count).copy_(entropy_of(std::move(log_p_CV)));
      }
    });
    context->set_materialize_grads(false);
    context->saved_data["temperature"] = options.temperature;
    context->saved_data["chunk_tokens"] = options.chunk_tokens;
    if (!options.entropy) {
      context->save_for_backward({hidden_TD, weight_VD, tokens_T, log_sums_T});
      return {log_probs_T};
    }
    context->save_for_backward({hidden_TD, weight_VD, tokens_T, log_sums_T, entropy_T.clone()});
    return {log_probs_T, entropy_T};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const variable_list saved = context->get_saved_variables();
    const Tensor& hidden_TD = saved[0];
    const Tensor& weight_VD = saved[1];
    const Tensor entropy_T = saved.size() > 4 ? saved[4] : Tensor();
    const Inputs inputs = {hidden_TD, weight_VD.to(hidden_TD.scalar_type()), saved[2],
                           context->saved_data["temperature"].toDouble(),
                           context->saved_data["chunk_tokens"].toInt()};
    const Tensor d_log_probs_T = gradients[0];
    const Tensor d_entropy_T = gradients.size() > 1 ? gradients[1] : Tensor();
    if (!d_log_probs_T.defined() && !d_entropy_T.defined()) return variable_list(4);
    Tensor d_hidden_TD, d_weight_VD;
    if (context->needs_input_grad(0)) d_hidden_TD = torch::empty_like(hidden_TD);
    if (context->needs_input_grad(1)) d_weight_VD = torch::zeros_like(weight_VD);
    inputs.for_each_chunk([&](int64_t first, int64_t count) {
      const auto chunk = [&](const Tensor& of_tokens) { return rows(of_tokens, first, count); };
      Tensor d_logits_CV = inputs.logits(first, count).sub_(chunk(saved[3]).unsqueeze(-1));
      d_logits_CV = gradient_of_logits(std::move(d_logits_CV), chunk(saved[2]), chunk(entropy_T),
                                       chunk(d_log_probs_T), chunk(d_entropy_T));
      if (inputs.temperature != 1) d_logits_CV.div_(inputs.temperature);
      d_logits_CV = d_logits_CV.to(hidden_TD.scalar_type());
      if (d_hidden_TD.defined()) {
        Tensor d_hidden_CD = chunk(d_hidden_TD);
        at::mm_out(d_hidden_CD, d_logits_CV, inputs.weight_VD);
      }
      if (d_weight_VD.defined()) add_product(d_weight_VD, d_logits_CV.t(), chunk(hidden_TD));
    });
    return {d_hidden_TD, d_weight_VD, Tensor(), Tensor()};
  }

 private:
  // sum_VD += a_VC b_CD; the product may have a lower precision.
  static void add_product(Tensor& sum_VD, const Tensor& a_VC, const Tensor& b_CD) {
    if (sum_VD.scalar_type() == b_CD.scalar_type()) {
      sum_VD.addmm_(a_VC, b_CD);
    } else {
      sum_VD.add_(at::mm(a_VC, b_CD));
    }
  }
};

void check(const Tensor& hidden_TD, const Tensor& weight_VD, const Tensor& tokens_T,
           const LogProbOptions& options) {
  TORCH_CHECK(hidden_TD.dim() == 2 && weight_VD.dim() == 2 && tokens_T.dim() == 1 &&
                  hidden_TD.size(1) == weight_VD.size(1) && hidden_TD.size(0) == tokens_T.size(0),
              "hidden states ", hidden_TD.sizes(), ", a head ", weight_VD.sizes(), " and tokens ",
              tokens_T.sizes(), " do not fit together: (T, D), (V, D), (T)");
  TORCH_CHECK(options.temperature > 0, "a temperature of ", options.temperature, " is not above 0");
  TORCH_CHECK(options.chunk_tokens > 0, "a chunk of ", options.chunk_tokens, " tokens has none");
}

// Casts as autocast would for the head's product; the hidden states' cast is in the graph.
Tensor cast_for_product(const Tensor& hidden_TD, const Tensor& weight_VD) {
  const auto device = hidden_TD.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return hidden_TD.to(weight_VD.scalar_type());
  return hidden_TD.to(at::autocast::get_autocast_dtype(device));
}

}  // namespace

TokenLogProbs token_log_probs(const Tensor& hidden_TD, const Tensor& weight_VD,
                              const Tensor& tokens_T, const LogProbOptions& options) {
  check(hidden_TD, weight_VD, tokens_T, options);
  const variable_list made =
      ChunkedLogProbs::apply(cast_for_product(hidden_TD, weight_VD), weight_VD, tokens_T, options);
  return {made[0], made.size() > 1 ? made[1] : Tensor()};
}

TokenLogProbs plain_token_log_probs(const Tensor& hidden_TD, const Tensor& weight_VD,
                                    const Tensor& tokens_T, const LogProbOptions& options) {
  check(hidden_TD, weight_VD, tokens_T, options);
  Tensor logits_TV = torch::einsum("td,vd->tv", {hidden_TD, weight_VD}).to(wide(hidden_TD));
  if (options.temperature != 1) logits_TV = logits_TV / options.temperature;
  const Tensor log_p_TV = torch::log_softmax(logits_TV, -1);
  TokenLogProbs made = {log_p_TV.gather(-1, tokens_T.unsqueeze(-1)).squeeze(-1), Tensor()};
  if (options.entropy) {
    const Tensor p_TV = torch::softmax(logits_TV, -1);
    made.entropy_T = torch::logsumexp(logits_TV, -1) - (p_TV * logits_TV).sum(-1);
  }
  return made;
}

}  // namespace headroom
