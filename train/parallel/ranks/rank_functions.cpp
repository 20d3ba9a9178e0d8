#include "train/parallel/ranks/rank_functions.h"

namespace headroom {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

namespace {

constexpr const char* kRanks = "ranks";

void keep(AutogradContext* context, RankGroup* ranks) {
  context->saved_data[kRanks] = reinterpret_cast<int64_t>(ranks);
}

RankGroup& ranks_kept(AutogradContext* context) {
  return *reinterpret_cast<RankGroup*>(context->saved_data[kRanks].toInt());  // NOLINT: as kept
}

Tensor summed(Tensor x, RankGroup& ranks) {
  x = x.contiguous();
  ranks.all_reduce({x})->wait();
  return x;
}

// (B, s, D) of each rank to (B, S, D). With one sequence the gathered parts already are the whole,
// and the result is no view, so autograd's saves of it may be compressed.
Tensor gathered(const Tensor& x_BsD, RankGroup& ranks) {
  const int64_t count = ranks.size();
  const auto sizes = x_BsD.sizes();
  if (sizes[0] == 1) {
    Tensor whole = torch::empty({1, count * sizes[1], sizes[2]}, x_BsD.options());
    ranks.all_gather(whole, x_BsD.contiguous())->wait();
    return whole;
  }
  Tensor all = torch::empty({count, sizes[0], sizes[1], sizes[2]}, x_BsD.options());
  ranks.all_gather(all, x_BsD.contiguous())->wait();
  return all.transpose(0, 1).reshape({sizes[0], count * sizes[1], sizes[2]});
}

// (B, S, D) to this rank's (B, s, D) of the sum.
Tensor summed_by_tokens(const Tensor& x_BSD, RankGroup& ranks) {
  const int64_t count = ranks.size();
  const auto sizes = x_BSD.sizes();
  const Tensor all =
      x_BSD.reshape({sizes[0], count, sizes[1] / count, sizes[2]}).transpose(0, 1).contiguous();
  Tensor own = torch::empty({sizes[0], sizes[1] / count, sizes[2]}, x_BSD.options());
  ranks.reduce_scatter(own, all)->wait();
  return own;
}

struct Spread : torch::autograd::Function<Spread> {
  static Tensor forward(AutogradContext* context, const Tensor& x, RankGroup* ranks) {
    keep(context, ranks);
    return at::_unsafe_view(x, x.sizes());
  }
  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    return {summed(gradients[0], ranks_kept(context)), Tensor()};
  }
};

// No copy of memory that nothing else uses: autograd gets another tensor of the same memory.
struct SumOfRanks : torch::autograd::Function<SumOfRanks> {
  static Tensor forward(AutogradContext*, const Tensor& x, RankGroup* ranks) {
    return summed(at::_unsafe_view(x, x.sizes()), *ranks);
  }
  static tensor_list backward(AutogradContext*, const tensor_list& gradients) {
    return {gradients[0], Tensor()};
  }
};

struct GatherTokens : torch::autograd::Function<GatherTokens> {
  static Tensor forward(AutogradContext* context, const Tensor& x_BsD, RankGroup* ranks) {
    keep(context, ranks);
    return gathered(x_BsD, *ranks);
  }
  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    return {summed_by_tokens(gradients[0], ranks_kept(context)), Tensor()};
  }
};

struct SumByTokens : torch::autograd::Function<SumByTokens> {
  static Tensor forward(AutogradContext* context, const Tensor& x_BSD, RankGroup* ranks) {
    keep(context, ranks);
    return summed_by_tokens(x_BSD, *ranks);
  }
  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    return {gathered(gradients[0], ranks_kept(context)), Tensor()};
  }
};

}  // namespace

Tensor spread(const Tensor& x, RankGroup& ranks) { return Spread::apply(x, &ranks); }

Tensor sum_of_ranks(const Tensor& x, RankGroup& ranks) { return SumOfRanks::apply(x, &ranks); }

Tensor gather_tokens(const Tensor& x_BsD, RankGroup& ranks) {
  return GatherTokens::apply(x_BsD, &ranks);
}

Tensor sum_by_tokens(const Tensor& x_BSD, RankGroup& ranks) {
  return SumByTokens::apply(x_BSD, &ranks);
}

}  // namespace headroom
