#include "train/parallel/tensor/tensor_layers.h"

#include <memory>
#include <utility>

#include "train/parallel/ranks/rank_functions.h"
#include "train/parallel/tensor/tensor_plan.h"

namespace headroom {
namespace {

// Wraps a split layer, and has its parameters under the same names.
class Around : public LayerModule {
 public:
  Around(Layer inner, RankGroup& ranks, bool by_tokens)
      : inner_(std::move(inner)), ranks_(ranks), by_tokens_(by_tokens) {
    for (const auto& child : inner_->named_children()) register_module(child.key(), child.value());
    for (const auto& own : inner_->named_parameters(/*recurse=*/false)) {
      register_parameter(own.key(), own.value());
    }
  }

  void run_core_by(const AttentionRunner& run) override { inner_->run_core_by(run); }

 protected:
  Tensor come(const Tensor& x) const {
    return by_tokens_ ? gather_tokens(x, ranks_) : spread(x, ranks_);
  }
  Tensor leave(const Tensor& x) const {
    return by_tokens_ ? sum_by_tokens(x, ranks_) : sum_of_ranks(x, ranks_);
  }
  LayerModule& inner() { return *inner_; }
  RankGroup& ranks() const { return ranks_; }

 private:
  Layer inner_;
  RankGroup& ranks_;
  bool by_tokens_;
};

// Attention, feed-forward.
class AroundBoth final : public Around {
 public:
  using Around::Around;
  Tensor forward(const Tensor& x_BSD) override { return leave(inner().forward(come(x_BSD))); }
};

class AroundHead final : public Around {
 public:
  using Around::Around;
  Tensor forward(const Tensor& x_BSD) override { return inner().forward(come(x_BSD)); }
};

// Each rank has some rows of the table; tokens whose row is elsewhere give zeros here.
class AroundTable final : public Around {
 public:
  AroundTable(Layer inner, RankGroup& ranks, bool by_tokens, int64_t vocab_size)
      : Around(std::move(inner), ranks, by_tokens),
        rows_(part_of(vocab_size, ranks.size(), ranks.rank())) {}

  Tensor forward(const Tensor& tokens_BS) override {
    const Tensor rows_BS = tokens_BS - rows_.begin;
    const Tensor elsewhere_BS = rows_BS.lt(0).logical_or_(rows_BS.ge(rows_.length));
    Tensor x_BSD = inner().forward(rows_BS.masked_fill(elsewhere_BS, 0));
    return leave(x_BSD.masked_fill_(elsewhere_BS.unsqueeze(-1), 0));
  }

 private:
  Range rows_;
};

}  // namespace

LayerFactory tensor_parallel_layers(const LayerFactory& layers, RankGroup& ranks, bool by_tokens) {
  using Options = LayerFactory::Options;
  LayerFactory split = layers;
  split.embedding = [layers, &ranks, by_tokens](int64_t vocab_size, int64_t d_model,
                                                double deviation, const Options& options) -> Layer {
    return std::make_shared<AroundTable>(layers.embedding(vocab_size, d_model, deviation, options),
                                         ranks, by_tokens, vocab_size);
  };
  split.feed_forward = [layers, &ranks, by_tokens](const LayerFactory&, const ModelConfig& config,
                                                   const Options& options) -> Layer {
    return std::make_shared<AroundBoth>(layers.feed_forward(layers, config, options), ranks,
                                        by_tokens);
  };
  split.attention = [layers, &ranks, by_tokens](const LayerFactory&, const ModelConfig& config,
                                                Attention kind, const Positions* positions,
                                                const Options& options) -> Layer {
    return std::make_shared<AroundBoth>(layers.attention(layers, config, kind, positions, options),
                                        ranks, by_tokens);
  };
  split.head = [layers, &ranks, by_tokens](const LayerFactory&, int64_t d_model, int64_t outputs,
                                           const Options& options) -> Layer {
    return std::make_shared<AroundHead>(layers.head(layers, d_model, outputs, options), ranks,
                                        by_tokens);
  };
  split.tied_head = [layers, &ranks, by_tokens](const LayerFactory&, const Tensor& table) -> Layer {
    return std::make_shared<AroundHead>(layers.tied_head(layers, table), ranks, by_tokens);
  };
  return split;
}

Tensor cross_entropy_of_ranks(const Tensor& logits_BSV, const Tensor& targets_BS,
                              int64_t first_token, RankGroup& ranks) {
  Tensor highest_BS1;
  {
    const torch::NoGradGuard no_grad;  // a constant: its value cancels
    highest_BS1 = std::get<0>(logits_BSV.max(-1, /*keepdim=*/true));
    ranks.all_max(highest_BS1)->wait();
  }
  const Tensor shifted_BSV = logits_BSV - highest_BS1;
  const Tensor sum_BS1 = sum_of_ranks(torch::exp(shifted_BSV).sum(-1, /*keepdim=*/true), ranks);
  const Tensor columns_BS1 = (targets_BS - first_token).unsqueeze(-1);
  const Tensor elsewhere_BS1 = columns_BS1.lt(0).logical_or_(columns_BS1.ge(logits_BSV.size(-1)));
  const Tensor target_BS1 =
      sum_of_ranks(shifted_BSV.gather(-1, columns_BS1.masked_fill(elsewhere_BS1, 0))
                       .masked_fill(elsewhere_BS1, 0),
                   ranks);
  return (torch::log(sum_BS1) - target_BS1).mean();
}

}  // namespace headroom
