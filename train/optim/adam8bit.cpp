#include "train/optim/adam8bit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "train/settings/vocabulary/activations.h"

namespace headroom {

using torch::Tensor;

namespace {

// (blocks, elements of each), FP32.
Tensor decoded(const Tensor& codes, const Tensor& values, const Tensor& scale) {
  return values.index_select(0, codes.to(torch::kInt)).view({scale.size(0), -1}).mul_(scale);
}

// Overwrites x, which has the shape of decoded(). A block of zeros has scale 0, where every code
// means 0.
void encode(Tensor& x, const DynamicMap& map, const Tensor& codes, Tensor scale) {
  if (map.code_table) {
    return encode_blocks({.numbers = x.mutable_data_ptr<float>(),
                          .codes = codes.mutable_data_ptr<uint8_t>(),
                          .scales = scale.mutable_data_ptr<float>(),
                          .count = x.size(0),
                          .width = x.size(1)},
                         *map.code_table);
  }
  at::linalg_vector_norm_out(scale, x, std::numeric_limits<double>::infinity(), at::IntArrayRef{1},
                             /*keepdim=*/true);
  x.div_(scale);
  codes.copy_(at::bucketize(x.view({-1}), map.middles, /*out_int32=*/true));
}

}  // namespace

Adam8bit::Adam8bit(std::vector<Tensor> parameters, const Adam8bitOptions& options)
    : Optimizer(std::move(parameters)), options_(options) {}

std::vector<Tensor> Adam8bit::state() const {
  std::vector<Tensor> all = m_;
  for (const auto* kind : {&v_, &m_scale_, &v_scale_}) {
    all.insert(all.end(), kind->begin(), kind->end());
  }
  if (maps_) all.push_back(maps_->table);
  return all;
}

void Adam8bit::make_state(int64_t /*updates*/) {
  if (parameters_.empty()) return;
  maps_ = dynamic_maps(parameters_.front().device());
  const std::vector<int64_t>& whole = options_.whole_numels;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& p = parameters_[i];
    const bool small = (whole.empty() ? p.numel() : whole[i]) < k8BitSmallest;
    const auto options = p.options().requires_grad(false);
    const auto moment = options.dtype(small ? torch::kFloat : torch::kByte);
    m_.push_back(torch::zeros(p.sizes(), moment));
    v_.push_back(torch::zeros(p.sizes(), moment));
    const auto scale = [&] {
      return torch::zeros({small ? 0 : scales_of(p.numel(), k8BitBlock), 1},
                          options.dtype(torch::kFloat));
    };
    m_scale_.push_back(scale());
    v_scale_.push_back(scale());
  }
}

void Adam8bit::update() {
  if (m_.empty()) make_state(0);
  for (size_t i = 0; i < parameters_.size(); ++i) update_one(i);
}

void Adam8bit::update_one(size_t i) {
  if (m_[i].scalar_type() != torch::kByte) return update_small(i);
  const Tensor p = parameters_[i].view({-1});
  const Tensor g = parameters_[i].grad().reshape({-1});
  const Tensor m = m_[i].view({-1});
  const Tensor v = v_[i].view({-1});
  const int64_t elements = p.numel();
  const int64_t in_full_blocks = elements / k8BitBlock * k8BitBlock;
  for (int64_t begin = 0; begin < elements;) {
    const int64_t rest = begin < in_full_blocks ? in_full_blocks - begin : elements - begin;
    const int64_t length = std::min(rest, chunk_length());
    const int64_t block = begin / k8BitBlock;
    const int64_t blocks = scales_of(length, k8BitBlock);
    update_chunk({.p = p.narrow(0, begin, length),
                  .g = g.narrow(0, begin, length),
                  .m = m.narrow(0, begin, length),
                  .v = v.narrow(0, begin, length),
                  .m_scale = m_scale_[i].narrow(0, block, blocks),
                  .v_scale = v_scale_[i].narrow(0, block, blocks)});
    begin += length;
  }
}

int64_t Adam8bit::chunk_length() const {
  const bool is_on_cpu = parameters_.front().is_cpu();
  return options_.compiled && is_on_cpu ? kCompiled8bitChunk : kAdam8bitChunk;
}

bool Adam8bit::update_compiled(const Chunk& chunk) const {
  if (!options_.compiled || chunk.g.scalar_type() != torch::kFloat) return false;
  const auto rows = [&](const Tensor& flat) { return flat.view({chunk.m_scale.size(0), -1}); };
  if (rows(chunk.p).size(1) != k8BitBlock) return false;
  std::vector<Tensor> tensors = {rows(chunk.p), rows(chunk.g), rows(chunk.m),
                                 rows(chunk.v), chunk.m_scale, chunk.v_scale};
  const auto& m_map = maps_->with_sign;
  const auto& v_map = maps_->without_sign;
  const auto run = [&](std::vector<Tensor> more) {
    tensors.insert(tensors.end(), more.begin(), more.end());
    return options_.compiled->run(tensors, {keep(), rate(), 1 - options_.beta1, options_.beta2,
                                            1 - options_.beta2, correction(), options_.eps});
  };
  if (!m_map.code_table) return run({m_map.values, v_map.values, m_map.middles, v_map.middles});
  Tensor m = torch::empty_like(tensors[0], torch::kFloat);
  Tensor v = torch::empty_like(m);
  if (!run({m_map.values, v_map.values, m, v})) return false;
  encode(m, m_map, chunk.m, chunk.m_scale);
  encode(v, v_map, chunk.v, chunk.v_scale);
  return true;
}

// This order needs the least memory: one moment is decoded before the other, and the indices of
// each are freed before the next are made.
void Adam8bit::update_chunk(const Chunk& chunk) const {
  if (update_compiled(chunk)) return;
  const Tensor g = chunk.g.to(torch::kFloat).view({chunk.m_scale.size(0), -1});
  Tensor lost = g.sub(g).to(torch::kBool);  // 0 where g is finite, else NaN, which is true
  Tensor m = decoded(chunk.m, maps_->with_sign.values, chunk.m_scale);
  m.lerp_(g, 1 - options_.beta1).masked_fill_(lost, 0);
  Tensor v = decoded(chunk.v, maps_->without_sign.values, chunk.v_scale);
  v.mul_(options_.beta2).addcmul_(g, g, 1 - options_.beta2).masked_fill_(lost, 0);
  lost = Tensor();
  move(chunk.p, m.view({-1}), v.view({-1}));
  encode(m, maps_->with_sign, chunk.m, chunk.m_scale);
  encode(v, maps_->without_sign, chunk.v, chunk.v_scale);
}

void Adam8bit::update_small(size_t i) {
  const Tensor g = parameters_[i].grad().to(torch::kFloat);
  m_[i].lerp_(g, 1 - options_.beta1);
  v_[i].mul_(options_.beta2).addcmul_(g, g, 1 - options_.beta2);
  move(parameters_[i], m_[i], v_[i]);
}

double Adam8bit::rate() const {
  return options_.learning_rate / (1 - std::pow(options_.beta1, static_cast<double>(updates())));
}

double Adam8bit::correction() const {
  return std::sqrt(1 - std::pow(options_.beta2, static_cast<double>(updates())));
}

// One temporary of v's size.
void Adam8bit::move(const Tensor& p, const Tensor& m, const Tensor& v) const {
  Tensor update = v.sqrt().div_(correction()).add_(options_.eps);
  at::div_out(update, m, update);
  p.mul_(keep());
  p.add_(update, -rate());
}

}  // namespace headroom
