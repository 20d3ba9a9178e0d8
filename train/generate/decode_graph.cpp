#include "train/generate/decode_graph.h"

namespace headroom {

DecodeGraph::DecodeGraph(Transformer model, PassForward forward, KvCache& cache)
    : model_(std::move(model)), forward_(std::move(forward)), cache_(cache) {
  cache_.keep_shapes(true);
}

DecodeGraph::~DecodeGraph() { cache_.keep_shapes(false); }

Tensor DecodeGraph::run(std::vector<SequenceSpan> spans, const Tensor& tokens_B) {
  cache_.begin(spans);
  BatchLayout pass = make_pass(std::move(spans), tokens_B.device(), &cache_);
  if (graph_ == nullptr || tokens_1B_.numel() != tokens_B.numel()) {
    pass_ = std::move(pass);
    tokens_1B_ = tokens_B.unsqueeze(0).clone();
    capture();
  } else {
    pass_.positions_T.copy_(pass.positions_T);
    tokens_1B_.copy_(tokens_B.unsqueeze(0));
  }
  graph_->replay();
  return logits_BV_;
}

// Both runs write the same tokens to the same places.
void DecodeGraph::capture() {
  logits_BV_ = Tensor();
  graph_.reset();
  const PassScope scope(model_, &pass_);
  const torch::Device device = tokens_1B_.device();
  run_on_capture_stream(device, [&] { forward_(tokens_1B_); });
  graph_ = std::make_unique<CapturedGraph>(device,
                                           [&] { logits_BV_ = forward_(tokens_1B_).squeeze(0); });
}

}  // namespace headroom
