// The layers of --kernels eager.
#include "model/attention.h"
#include "model/layer_factory.h"
#include "model/layers.h"

namespace headroom {

const LayerFactory& eager_layers() {
  using Options = LayerFactory::Options;
  static const LayerFactory kEager = {
      .embedding = [](int64_t vocab_size, int64_t d_model, double deviation, const Options& options)
          -> Layer { return std::make_shared<Embedding>(vocab_size, d_model, deviation, options); },
      .linear = [](int64_t in, int64_t out, bool has_bias, const Options& options) -> Layer {
        return std::make_shared<Linear>(in, out, has_bias, options);
      },
      .rms_norm = [](int64_t d_model, double eps, const Options& options) -> Layer {
        return std::make_shared<RmsNorm>(d_model, eps, options);
      },
      .feed_forward = [](const LayerFactory& layers, const ModelConfig& config,
                         const Options& options) -> Layer {
        return std::make_shared<SwiGlu>(layers, config.d_model, config.d_ff, options);
      },
      .attention = [](const LayerFactory& layers, const ModelConfig& config, Attention kind,
                      const Positions* positions, const Options& options) -> Layer {
        return std::make_shared<CausalSelfAttention>(layers, config, kind, positions, options);
      },
      .head = [](const LayerFactory& layers, int64_t d_model, int64_t outputs,
                 const Options& options) -> Layer {
        return layers.linear(d_model, outputs, /*has_bias=*/false, options);
      },
      .tied_head = [](const LayerFactory& /*layers*/, const Tensor& table) -> Layer {
        return std::make_shared<Linear>(table);
      },
  };
  return kEager;
}

}  // namespace headroom
