#include "profiling/theory/rehearsal/model.h"

#include "cards/cards.h"
#include "model/parameter_table.h"
#include "profiling/theory/rehearsal/offload/resident_shapes.h"
#include "profiling/theory/rehearsal/parallel/shard_shapes.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

ShapeTensor linear(const ShapeTensor& x, const Parameter& weight) {
  return einsum("...i,oi->...o", x, weight.value);
}

// One inside a block.
ShapeTensor projection(const ShapeTensor& x, const Parameter& weight) {
  return x.run->fp8 ? fp8_linear(x, weight.value) : linear(x, weight);
}

ShapeTensor rms_norm(const ShapeTensor& x_BSD, const Parameter& parameter) {
  const ShapeTensor& weight = parameter.value;
  const DType dtype = x_BSD.dtype;
  ShapeTensor x = to(x_BSD, DType::kFp32);
  const ShapeTensor inverse_rms_BS1 = rsqrt(add_scalar(mean_last(pow(x))));
  x = mul(x, inverse_rms_BS1);
  return to(mul(weight, x), dtype);
}

ShapeTensor silu(const ShapeTensor& x) { return mul(x, sigmoid(x)); }

ShapeTensor swiglu(const RehearsedBlock& block, const ShapeTensor& x_BSD) {
  ShapeTensor gate_BSF = silu(projection(x_BSD, block.w1));
  gate_BSF = mul(gate_BSF, projection(x_BSD, block.w3));
  return projection(gate_BSF, block.w2);
}

ShapeTensor log_softmax(const ShapeTensor& logits_BSV) {
  const ShapeTensor shifted_BSV = sub(logits_BSV, max_last(logits_BSV).first);
  const ShapeTensor sum_BS1 = sum_last(exp(shifted_BSV));
  return sub(shifted_BSV, log(sum_BS1));
}

// The kernels of later queries, by libtorch's choice. In a decode grouped heads of queries stand in
// the place of queries; flash takes no mask.
void choose_later_kernels(const RunSpec& spec, AttentionDevice& device) {
  constexpr int64_t kLeastKeys = 2;
  const RowBuilder sheet(spec);
  AttentionCall call = attention_call(spec, sheet.config(), sheet.compute());
  call.context = kLeastKeys;
  call.backward = false;
  device.of_later = chosen_kernel(call);
  if (device.of_later == AttentionKernel::kFlash) {
    const bool takes = refusal(AttentionKernel::kMemoryEfficient, call).empty();
    device.of_later = takes ? AttentionKernel::kMemoryEfficient : AttentionKernel::kMath;
  }
  call.heads = call.kv_heads;
  device.of_decode = chosen_kernel(call);
}

// Temporaries of the tables leave holes, which the first steps fill.
RotaryTables rotary_tables(Run& run, int64_t context_length, int64_t half_head) {
  const auto vector = [&](int64_t size) { return empty(run, {size}, DType::kFp32); };
  ShapeTensor exponents_R = vector(half_head);
  exponents_R = vector(half_head);  // divided
  ShapeTensor frequencies_R;
  {
    const ShapeTensor negative = vector(half_head);
    frequencies_R = vector(half_head);
  }
  const ShapeTensor positions_S = vector(context_length);
  const Dims angles = {context_length, half_head};
  const ShapeTensor angles_SR = empty(run, angles, DType::kFp32);
  const ShapeTensor cos_SR = empty(run, angles, DType::kFp32);
  return {cos_SR, empty(run, angles, DType::kFp32)};
}

}  // namespace

std::vector<Parameter*> RehearsedBlock::parameters() {
  return {&q_proj, &k_proj, &v_proj, &output_proj, &w1, &w2, &w3, &ln1, &ln2};
}

// A gradient with the parameter's strides becomes .grad as it is; another one is copied.
std::shared_ptr<Node> accumulate_grad(Parameter& parameter, int64_t block) {
  auto node = std::make_shared<Node>();
  node->name = "AccumulateGrad";
  node->block = block;
  node->sequence = UINT64_MAX;
  node->input = {parameter.value.sizes, parameter.value.dtype};
  node->apply = [&parameter](ShapeTensor& grad) {
    ShapeTensor arrived = std::move(grad);
    if (!parameter.gradient.defined()) {
      parameter.gradient =
          arrived.is_contiguous() ? arrived : empty(*arrived.run, arrived.sizes, arrived.dtype);
      parameter.gradient.storage->belongs_to(kGradients);
    }
    arrived = {};
    if (parameter.when_accumulated) parameter.when_accumulated();
    return Tensors{};
  };
  return node;
}

RehearsedModel::RehearsedModel(Run& run, const RunSpec& spec, Head head, int64_t rank)
    : run_(run), spec_(spec), config_(model_config(spec)), stage_(spec, rank) {
  if (spec.mesh.size(MeshAxis::kTensor) > 1) tensors_ = std::make_unique<TensorShapes>(spec, rank);
  if (spec.zero > 0) shards_ = std::make_unique<ShardShapes>(run, spec, rank);
  const int64_t sharing = tensors_ ? tensors_->ranks() : 1;
  heads_ = config_.heads / sharing;
  kv_heads_ = config_.kv_heads / sharing;
  if (spec.profile_type != Mode::kForward) checkpoint_ = spec.checkpoint;
  attention_.kernel = RowBuilder(spec).attention_kernel();
  choose_later_kernels(spec, attention_);
  run.fp8 = spec.precision == Precision::kFp8;
  if (is_virtual(spec)) {
    const Card& card = find_card(spec.device.card);
    attention_.multiprocessors = run.multiprocessors = card.multiprocessors;
    run.threads_per_multiprocessor = card.limits.threads_per_multiprocessor;
  }
  run.memory.site = {.phase = "build"};
  run.memory.group = kTables;
  rotary_ = rotary_tables(run, spec.context_length, config_.head_dim() / 2);
  run.memory.group = kParameters;
  if (spec.param_offload.any()) offloaded_.emplace();
  build(head);
}

RehearsedModel::~RehearsedModel() = default;

// Tensors of other ranks are made too, and freed; tensors that are split are made whole.
void RehearsedModel::build(Head head) {
  if (head == Head::kValue) config_.outputs = 1;
  make(token_embeddings_);
  if (!stage_.has_table()) token_embeddings_.value = {};
  blocks_.resize(static_cast<size_t>(stage_.layers()));
  auto next = blocks_.begin();
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    RehearsedBlock elsewhere;
    RehearsedBlock& block = stage_.has_layer(layer) ? *next : elsewhere;
    run_.memory.site.block = next - blocks_.begin();
    build_block(block);
    if (&block == &elsewhere) continue;
    take_block(block);
    ++next;
  }
  run_.memory.site.block = -1;
  if (stage_.has_head()) {
    make(ln_final_);
    make(lm_head_);
  }
  take_rest();
}

void RehearsedModel::build_block(RehearsedBlock& block) {
  for (Parameter* parameter : block.parameters()) make(*parameter);
}

void RehearsedModel::take_block(RehearsedBlock& block) {
  const std::vector<Parameter*> own = block.parameters();
  for (Parameter* parameter : own) cut(*parameter);
  parameters_.insert(parameters_.end(), own.begin(), own.end());
  if (offloaded_) {
    std::vector<ShapeTensor> values;
    values.reserve(own.size());
    for (const Parameter* parameter : own) values.push_back(parameter->value);
    offloaded_->take(std::move(values));
  }
  if (shards_) shards_->take_block(own);
}

void RehearsedModel::take_rest() {
  std::vector<Parameter*> table;
  std::vector<Parameter*> head;
  if (stage_.has_table()) table = {&token_embeddings_};
  if (stage_.has_head()) head = {&ln_final_, &lm_head_};
  for (Parameter* parameter : table) cut(*parameter);
  for (Parameter* parameter : head) cut(*parameter);
  parameters_.insert(parameters_.begin(), table.begin(), table.end());
  parameters_.insert(parameters_.end(), head.begin(), head.end());
  if (offloaded_) offloaded_->end_at(stage_.last_blocks());
  if (!shards_) return;
  shards_->take_rest(table, head);
  shards_->end_at(stage_.last_blocks());
}

std::vector<Parameter*> RehearsedModel::parameters_that_stay() {
  return offloaded_ ? std::vector<Parameter*>{&token_embeddings_, &ln_final_, &lm_head_}
                    : parameters_;
}

void RehearsedModel::make(Parameter& parameter) {
  Dims sizes;
  for (const int64_t size : parameter_sizes(*find_parameter(parameter.name), config_)) {
    sizes.push_back(size);
  }
  ShapeTensor drawn;  // matrices are drawn in FP32 and rounded
  const DType dtype = spec_.weights == WeightType::kBf16 ? DType::kBf16 : DType::kFp32;
  if (sizes.size() > 1 && dtype != DType::kFp32) drawn = empty(run_, sizes, DType::kFp32);
  parameter.value = empty(run_, sizes, dtype);
  parameter.value.is_parameter = true;
  parameter.value.made_by = accumulate_grad(parameter, run_.memory.site.block);
}

// Like TensorParallel::cut().
void RehearsedModel::cut(Parameter& parameter) {
  if (!tensors_) return;
  ShapeTensor& value = parameter.value;
  const Dims own = tensors_->own(parameter.name, value.sizes);
  if (own == value.sizes) return;
  const ShapeTensor part = empty(run_, own, value.dtype);
  value.storage = part.storage;
  value.sizes = own;
  value.strides = contiguous_strides(own);
  value.made_by->input.sizes = own;
}

std::vector<Parameter*> RehearsedModel::updated() {
  return shards_ ? shards_->pieces() : parameters_;
}

void RehearsedModel::begin_step() {
  if (offloaded_) offloaded_->begin_step();
  if (shards_) shards_->begin_step();
}

ShapeTensor RehearsedModel::attention(const RehearsedBlock& block, const ShapeTensor& x_BSD) {
  const auto split_heads = [&](const ShapeTensor& x, int64_t heads) {
    return transpose(view(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
  };
  ShapeTensor q_BHSK = split_heads(projection(x_BSD, block.q_proj), heads_);
  ShapeTensor k_BGTK = split_heads(projection(x_BSD, block.k_proj), kv_heads_);
  const ShapeTensor v_BGTK = split_heads(projection(x_BSD, block.v_proj), kv_heads_);
  const RotaryTables& tables = pass_ == nullptr ? rotary_ : of_pass_;
  q_BHSK = to(rotate(tables, q_BHSK), x_BSD.dtype);
  k_BGTK = to(rotate(tables, k_BGTK), x_BSD.dtype);
  if (pass_ != nullptr) {
    const PassAttention attend = {spec_.attention, attention_,
                                  [this](const ShapeTensor& q, const ShapeTensor& k,
                                         const ShapeTensor& v) { return whole(q, k, v); }};
    return projection(attend_shape_pass(*pass_, attend, q_BHSK, k_BGTK, v_BGTK), block.output_proj);
  }
  ShapeTensor heads_BHSK = whole(q_BHSK, k_BGTK, v_BGTK);
  heads_BHSK = reshape(transpose(heads_BHSK, 1, 2),
                       {x_BSD.size(0), x_BSD.size(1), heads_ * config_.head_dim()});
  return projection(contiguous(heads_BHSK), block.output_proj);
}

ShapeTensor RehearsedModel::whole(const ShapeTensor& q_BHSK, const ShapeTensor& k_BGTK,
                                  const ShapeTensor& v_BGTK) const {
  return spec_.attention == Attention::kEager
             ? core(q_BHSK, repeat_heads(k_BGTK, heads_), repeat_heads(v_BGTK, heads_))
             : scaled_dot_product_attention(attention_, q_BHSK, k_BGTK, v_BGTK);
}

ShapeTensor RehearsedModel::core(const ShapeTensor& q_BHSK, const ShapeTensor& k_BHTK,
                                 const ShapeTensor& v_BHTK) const {
  return checkpoint_.kind == CheckpointKind::kSelective
             ? recomputed_attention(q_BHSK, k_BHTK, v_BHTK)
             : eager_attention(q_BHSK, k_BHTK, v_BHTK);
}

ShapeTensor RehearsedModel::forward_block(const RehearsedBlock& block, const ShapeTensor& x_BSD) {
  const auto attend = [&](const ShapeTensor& normed_BSD) {
    return leave(attention(block, come(normed_BSD)));
  };
  const auto feed_forward = [&](const ShapeTensor& normed_BSD) {
    return leave(swiglu(block, come(normed_BSD)));
  };
  const ShapeTensor attention_BSD = attend(rms_norm(x_BSD, block.ln1));
  const ShapeTensor attended_BSD = add(x_BSD, attention_BSD);
  const ShapeTensor feed_forward_BSD = feed_forward(rms_norm(attended_BSD, block.ln2));
  return add(attended_BSD, feed_forward_BSD);
}

ShapeTensor RehearsedModel::run_blocks(int64_t first, int64_t end, ShapeTensor x_BSD) {
  const int64_t last = last_to_run(first, end);
  for (int64_t i = first; i < last; ++i) {
    run_.memory.site.block = i;
    const auto block = [&](const ShapeTensor& in_BSD) {
      return forward_block(blocks_[static_cast<size_t>(i)], in_BSD);
    };
    if (offloaded_) {
      x_BSD = run_resident(*offloaded_, run_, i, x_BSD, block);
    } else {
      x_BSD = shards_ ? shards_->run(i, x_BSD, block) : block(x_BSD);
    }
  }
  run_.memory.site.block = -1;
  return x_BSD;
}

int64_t RehearsedModel::last_to_run(int64_t first, int64_t end) const {
  constexpr int64_t kThatTell = 4;
  if (!shortened_ || run_.grad_mode || offloaded_ || end - first <= kThatTell + 1) return end;
  return first + kThatTell + (end - first) % 2;
}

ShapeTensor RehearsedModel::hidden(const ShapeTensor& tokens_BS, bool in_groups) {
  if (pass_ != nullptr) {
    of_pass_.cos_SR = index_select(rotary_.cos_SR, 0, pass_->positions_T);
    of_pass_.sin_SR = index_select(rotary_.sin_SR, 0, pass_->positions_T);
  }
  ShapeTensor x_BSD = embed(tokens_BS);
  x_BSD = blocks(0, stage_.layers(), std::move(x_BSD), in_groups);
  if (pass_ != nullptr && pass_->outputs_N.defined()) {
    x_BSD = index_select(x_BSD, 1, pass_->outputs_N);
  }
  x_BSD = final_norm(x_BSD);
  return x_BSD;
}

ShapeTensor RehearsedModel::embed(const ShapeTensor& tokens_BS) {
  const ShapeTensor& table = token_embeddings_.value;
  return tensors_ ? tensors_->embed(table, tokens_BS) : index(table, tokens_BS);
}

ShapeTensor RehearsedModel::blocks(int64_t first, int64_t end, ShapeTensor x_BSD, bool in_groups) {
  const ShapeSpan run = [this, first](int64_t from, int64_t to, ShapeTensor span_BSD) {
    return run_blocks(first + from, first + to, std::move(span_BSD));
  };
  // Without a graph a group of one block is as that block.
  const bool grouped = in_groups && (run_.grad_mode || checkpoint_.kind == CheckpointKind::kEvery);
  const auto groups = block_groups(grouped ? checkpoint_ : Checkpoint(), end - first);
  return run_groups(groups, run, std::move(x_BSD));
}

ShapeTensor RehearsedModel::final_norm(const ShapeTensor& x_BSD) const {
  return rms_norm(x_BSD, ln_final_);
}

ShapeTensor RehearsedModel::head(const ShapeTensor& hidden) const {
  return linear(come(hidden), lm_head_);
}

ShapeTensor RehearsedModel::loss(const ShapeTensor& logits_BSV,
                                 const ShapeTensor& targets_BS) const {
  return tensors_ ? tensors_->loss(logits_BSV, targets_BS) : cross_entropy(logits_BSV, targets_BS);
}

void RehearsedModel::set_pass(const ShapeLayout* pass) {
  pass_ = pass;
  of_pass_ = {};
}

ShapeTensor cross_entropy(const ShapeTensor& logits_BSV, const ShapeTensor& targets_BS) {
  const ShapeTensor negative_log_probabilities_BSV = neg(log_softmax(logits_BSV));
  return mean(gather_last(negative_log_probabilities_BSV, unsqueeze(targets_BS, 2)));
}

ShapeTensor with_probabilities(const ShapeTensor& logits_BSV) {
  Run& run = *logits_BSV.run;
  run.memory.site.operation = "entropy";
  const DType dtype = run.autocast ? DType::kFp32 : logits_BSV.dtype;
  ShapeTensor same_BSV = logits_BSV.detach();
  const ShapeTensor probabilities_BSV = empty(run, logits_BSV.sizes, dtype);
  attach("EntropyBackward", same_BSV, {&logits_BSV},
         [probabilities_BSV](ShapeTensor& grad) { return Tensors{grad}; });
  return same_BSV;
}

}  // namespace headroom
