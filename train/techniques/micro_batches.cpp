#include "train/techniques/micro_batches.h"

namespace headroom {

using torch::Tensor;

namespace {

Tensor part_of(const Tensor& whole, int64_t index, int64_t count) {
  if (count == 1) return whole;
  const int64_t sequences = whole.size(0) / count;
  return whole.narrow(0, index * sequences, sequences);
}

}  // namespace

std::vector<MicroBatch> split(const Batch& batch, int64_t count, const LossOfBatch& loss,
                              MicroBatch::Output loss_of) {
  std::vector<MicroBatch> parts;
  for (int64_t i = 0; i < count; ++i) {
    MicroBatch& part = parts.emplace_back();
    part.tokens_BS = part_of(batch.tokens_BS, i, count);
    part.targets_BS = part_of(batch.targets_BS, i, count);
    part.output = loss_of;
    part.parts = count;
    if (!loss) continue;
    part.loss = [loss, targets_BS = part.targets_BS](Transformer&, const Tensor& output) {
      return loss(output, targets_BS);
    };
  }
  return parts;
}

void check(const std::vector<MicroBatch>& parts, Mode mode, const Update& update) {
  TORCH_CHECK(!parts.empty(), "a step needs a micro-batch");
  TORCH_CHECK(has_backward(mode) || !parts.front().loss, "mode ", to_string(mode),
              " has no backward for a loss");
  TORCH_CHECK(parts.size() == 1 || update.adds_up(), "gradients that are released in backward do ",
              "not add up: ", parts.size(), " micro-batches");
}

Tensor share_of(const Tensor& loss, int64_t parts) { return parts == 1 ? loss : loss / parts; }

void TotalLoss::add(const Tensor& loss, int64_t parts) {
  if (parts == 1) {
    total_ = total_.defined() ? total_ + loss : loss;
    return;
  }
  const torch::NoGradGuard no_grad;
  if (!total_.defined()) {
    total_ = torch::zeros({}, torch::dtype(torch::kFloat32).device(loss.device()));
    tag(tags_, Category::kOther, total_, "mean loss");
  }
  total_.add_(loss, 1.0 / static_cast<double>(parts));
}

void tag_tokens(MemoryTags* tags, const std::vector<MicroBatch>& parts) {
  for (const MicroBatch& part : parts) {
    tag(tags, Category::kOther, {part.tokens_BS, part.targets_BS}, {"tokens", "targets"});
  }
}

void tag_gradients(MemoryTags* tags, const std::vector<Tensor>& parameters,
                   const std::vector<std::string>& names) {
  if (tags == nullptr) return;
  for (size_t i = 0; i < parameters.size(); ++i) {
    tag(tags, Category::kGradients, parameters[i].grad(), names[i]);
  }
}

}  // namespace headroom
