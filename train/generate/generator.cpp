#include "train/generate/generator.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace headroom {

using torch::Tensor;

namespace {

Tensor indices(const std::vector<int64_t>& values, torch::Device device) {
  return torch::tensor(values, torch::kInt64).to(device);
}

void check(const Prompts& prompts, const Generation& settings) {
  for (const int64_t length : prompts.lengths) {
    TORCH_CHECK(length > 0, "a prompt has no tokens");
    TORCH_CHECK(length + settings.response_len <= settings.cache.tokens, "a prompt of ", length,
                " tokens and a response of ", settings.response_len, " are beyond a cache of ",
                settings.cache.tokens, " tokens a sequence");
  }
  TORCH_CHECK(settings.response_len > 0, "a response has no tokens");
  TORCH_CHECK(settings.cache.at_once() > 0, "a cache of ", settings.cache.all_blocks(),
              " blocks is too small for one sequence of ", settings.cache.tokens, " tokens");
}

}  // namespace

Generator::Generator(Transformer model, Generation settings, PassForward forward,
                     bool in_inference_mode)
    : model_(std::move(model)),
      settings_(settings),
      forward_(std::move(forward)),
      in_inference_mode_(in_inference_mode) {}

Generated Generator::run(const Prompts& prompts, ScopeListener* scopes, MemoryTags* tags) {
  const torch::NoGradGuard no_grad;
  check(prompts, settings_);
  const torch::Device device = prompts.tokens_BP.device();
  const auto count = static_cast<int64_t>(prompts.lengths.size());
  cache_ = make_kv_cache(settings_.cache, device);
  tag(tags, Category::kKvCache, cache_->storages(), {"kv cache", "kv cache scales"});
  sampler_ = std::make_unique<Sampler>(settings_.sampling, settings_.seed, device);
  const int64_t longest = *std::max_element(prompts.lengths.begin(), prompts.lengths.end());
  Generated out;
  out.tokens_BT = torch::zeros({count, longest + settings_.response_len},
                               torch::dtype(torch::kInt64).device(device));
  out.lengths = prompts.lengths;
  tag(tags, Category::kOther, out.tokens_BT, "generated tokens");
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = prompts.lengths[static_cast<size_t>(i)];
    out.tokens_BT[i].narrow(0, 0, length).copy_(prompts.tokens_BP[i].narrow(0, 0, length));
  }
  // The results are already allocated: tensors of inference mode cannot be used in training.
  std::optional<c10::InferenceMode> inference;
  if (in_inference_mode_) inference.emplace();
  const int64_t at_once = settings_.cache.at_once();
  for (int64_t begin = 0; begin < count; begin += at_once) {
    Round round{.prompts = prompts, .begin = begin, .end = std::min(begin + at_once, count)};
    {
      const StepScope phase(scopes, {ScopeKind::kPhase, "prefill"});
      prefill(round, out);
    }
    if (settings_.response_len > 1) {
      const StepScope phase(scopes, {ScopeKind::kPhase, "decode"});
      decode(round, out);
    }
    for (int64_t row = 0; row < round.end - round.begin; ++row) cache_->release(row);
  }
  cache_.reset();
  return out;
}

// Prompts in order, split when a pass is full.
std::vector<std::vector<SequenceSpan>> Generator::chunks(const Round& round) const {
  const int64_t limit =
      settings_.prefill_chunk > 0 ? settings_.prefill_chunk : std::numeric_limits<int64_t>::max();
  std::vector<std::vector<SequenceSpan>> passes(1);
  int64_t room = limit;
  for (const int64_t row : round.rows) {
    const int64_t length = round.prompts.lengths[static_cast<size_t>(round.begin + row)];
    for (int64_t first = 0; first < length;) {
      if (room == 0) {
        passes.emplace_back();
        room = limit;
      }
      const int64_t part = std::min(length - first, room);
      passes.back().push_back({.length = part, .first = first, .row = row});
      first += part;
      room -= part;
    }
  }
  return passes;
}

// The logits of the prompts that end in this chunk, (N, V).
Tensor Generator::run_chunk(const Round& round, const std::vector<SequenceSpan>& spans) {
  std::vector<Tensor> tokens;
  std::vector<int64_t> last;
  int64_t end = 0;
  for (const SequenceSpan& span : spans) {
    const int64_t sequence = round.begin + span.row;
    tokens.push_back(round.prompts.tokens_BP[sequence].narrow(0, span.first, span.length));
    end += span.length;
    const int64_t length = round.prompts.lengths[static_cast<size_t>(sequence)];
    if (span.first + span.length == length) last.push_back(end - 1);
  }
  const Tensor tokens_1T = torch::cat(tokens).unsqueeze(0);
  cache_->begin(spans);
  BatchLayout pass = make_pass(spans, tokens_1T.device(), cache_.get());
  pass.outputs_N = indices(last, tokens_1T.device());
  const PassScope scope(model_, &pass);
  return forward_(tokens_1T).squeeze(0);
}

void Generator::prefill(Round& round, Generated& out) {
  round.rows.resize(static_cast<size_t>(round.end - round.begin));
  std::iota(round.rows.begin(), round.rows.end(), 0);
  round.ended.assign(round.rows.size(), false);
  std::vector<Tensor> logits_NV;
  for (const std::vector<SequenceSpan>& spans : chunks(round)) {
    logits_NV.push_back(run_chunk(round, spans));
  }
  const Tensor logits_BV = logits_NV.size() == 1 ? logits_NV.front() : torch::cat(logits_NV);
  logits_NV.clear();
  round.next_B = sampler_->next(logits_BV);
  take(round, out);
}

void Generator::decode(Round& round, Generated& out) {
  for (int64_t step = 1; step < settings_.response_len; ++step) {
    const bool any = std::find(round.ended.begin(), round.ended.end(), false) != round.ended.end();
    if (!any) break;
    if (!is_run(step)) {
      skip(round, out);
      continue;
    }
    round.next_B = sampler_->next(decode_logits(round));
    take(round, out);
  }
  if (graph_) out.graph_pool_bytes = std::max(out.graph_pool_bytes, graph_->pool_bytes());
  graph_.reset();  // per round: the next prefill is another pass
}

bool Generator::is_run(int64_t decode) const {
  if (settings_.decodes_run == 0 || settings_.end_token >= 0) return true;
  const int64_t decodes = settings_.response_len - 1;
  const int64_t stride = (decodes + settings_.decodes_run - 1) / settings_.decodes_run;
  return decode == 1 || (decodes - decode) % stride == 0;
}

void Generator::skip(const Round& round, Generated& out) {
  cache_->begin(next_spans(round));
  for (const int64_t row : round.rows) ++out.lengths[static_cast<size_t>(round.begin + row)];
}

std::vector<SequenceSpan> Generator::next_spans(const Round& round) const {
  std::vector<SequenceSpan> spans;
  for (const int64_t row : round.rows) {
    spans.push_back({.length = 1, .first = cache_->length(row), .row = row});
  }
  return spans;
}

Tensor Generator::decode_logits(Round& round) {
  std::vector<SequenceSpan> spans = next_spans(round);
  if (settings_.decode_graph) {
    if (!graph_) graph_ = std::make_unique<DecodeGraph>(model_, forward_, *cache_);
    return graph_->run(std::move(spans), round.next_B);
  }
  cache_->begin(spans);
  const BatchLayout pass = make_pass(std::move(spans), round.next_B.device(), cache_.get());
  const PassScope scope(model_, &pass);
  return forward_(round.next_B.unsqueeze(0)).squeeze(0);
}

void Generator::take(Round& round, Generated& out) {
  const torch::Device device = round.next_B.device();
  std::vector<int64_t> from;  // indices of rows that have not ended
  std::vector<int64_t> sequences;
  std::vector<int64_t> positions;
  for (size_t i = 0; i < round.rows.size(); ++i) {
    if (round.ended[i]) continue;
    const int64_t sequence = round.begin + round.rows[i];
    from.push_back(static_cast<int64_t>(i));
    sequences.push_back(sequence);
    positions.push_back(out.lengths[static_cast<size_t>(sequence)]++);
  }
  const bool all = from.size() == round.rows.size();
  const Tensor tokens = all ? round.next_B : round.next_B.index_select(0, indices(from, device));
  out.tokens_BT.index_put_({indices(sequences, device), indices(positions, device)}, tokens);
  if (settings_.end_token < 0) return;
  const Tensor on_host = round.next_B.to(torch::kCPU);
  const auto* next = on_host.const_data_ptr<int64_t>();
  for (size_t i = 0; i < round.rows.size(); ++i) {
    if (next[i] == settings_.end_token) round.ended[i] = true;
  }
  if (settings_.cache.form == KvCacheForm::kPaged && !settings_.decode_graph) drop_ended(round);
}

void Generator::drop_ended(Round& round) {
  std::vector<int64_t> kept;
  std::vector<int64_t> rows;
  for (size_t i = 0; i < round.rows.size(); ++i) {
    if (round.ended[i]) {
      cache_->release(round.rows[i]);
    } else {
      kept.push_back(static_cast<int64_t>(i));
      rows.push_back(round.rows[i]);
    }
  }
  if (kept.size() == round.rows.size() || kept.empty()) return;
  round.next_B = round.next_B.index_select(0, indices(kept, round.next_B.device()));
  round.rows = std::move(rows);
  round.ended.assign(round.rows.size(), false);
}

}  // namespace headroom
