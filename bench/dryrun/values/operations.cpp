// libheadroom_operations.so: tells the stand-in the reads and writes of libtorch's operations, and
// their results on small known values. Loaded by the Python hook of `headroom dryrun`.
//
// Note [Operations on known values]
// Rationale: a program branches on kernel results from values that it put on the card itself: a
//   mask's maximum, whether all are equal. The stand-in sees only the kernels' pointers; libtorch
//   has the operation.
// Approach: a callback around every libtorch operation (as in its profiler) reports the memory that
//   it reads and writes, so that memory it only reads stays known. If all that it reads is known
//   and small, libtorch's own CPU kernels run the same operation, and the result becomes the
//   card's content. libtorch's allocator reports the bounds of its blocks.
//   An unknown argument may not matter: an absorbing operation on integers is run with all its
//   bits 0 and all 1, and if both results are equal, that is the result. So `done | unknown` is
//   true if done is, which ends a text generation at its limit. Assumed and given values:
//   Note [Numbers that nobody knows are finite], Note [A mask keeps its count].
// Limits: numbers up to 1 MiB per operation; nothing random. Floating point is the CPU's: its last
//   bits may differ from a card's. Results allocated by value (nonzero) stay unknown. In C++
//   programs, and with libtorch versions other than the built one, only copies make values known.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "bench/dryrun/values/given_counts.h"
#include "bench/dryrun/values/one_thread.h"
#include "bench/dryrun/values/operation.h"
#include "bench/dryrun/values/routing.h"
#include "bench/dryrun/values/stand_in.h"
#include "bench/dryrun/values/uniform_masks.h"

namespace headroom {
namespace {

// An operation from its beginning to its end, during which its operands are registered.
struct Running : at::ObserverContext {
  ~Running() override {
    stand_in().pop_operands();
    if (operation->inside != Inside::kNothing) stand_in().answer_next(nullptr, 0);
  }
  const Operation* operation = nullptr;
  at::Tensor mask;              // with an unknown count
  std::optional<bool> uniform;  // the value of all elements of an argument
  int64_t experts = 0;          // of which it selects: Note [Routing]
  // With the card's tensors copied to the host; none if the operation is not computed.
  std::optional<HostArguments> arguments;
  std::vector<at::Tensor> written;         // on the card
  std::vector<at::Tensor> written_copies;  // in the same order
};

// The state of an operation's tensors, found in one pass without a copy.
class Memory {
 public:
  explicit Memory(const Operation& operation)
      : operation_(operation), absorbs_(operation.absorbs), is_computed_(operation.is_computed) {
    spans_.clear();
  }

  // False for a tensor that cannot be judged here: a subclass, a wrapper.
  bool add(c10::ArrayRef<const c10::IValue> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!add(inputs[i], operation_.arguments[i])) return false;
    }
    return true;
  }

  void push() const { stand_in().push_operands(spans_.data(), spans_.size()); }
  bool is_unknown() const { return is_of_card_ && has_unknown_; }
  bool is_computed() const {
    return is_computed_ && is_of_card_ && (!has_unknown_ || (absorbs_ && has_known_));
  }

 private:
  bool add(const c10::IValue& value, Use use) {
    if (value.isTensor()) return add(value.toTensor(), use);
    if (value.isTensorList()) {
      const auto all = value.toTensorList();
      return std::all_of(all.begin(), all.end(),
                         [&](const at::Tensor& one) { return add(one, use); });
    }
    if (value.isOptionalTensorList()) {
      for (const std::optional<at::Tensor>& one : value.toOptionalTensorVector()) {
        if (one && !add(*one, use)) return false;
      }
    }
    // The operation makes its result on the card itself; the operations that it calls are seen.
    if (value.isDevice()) is_computed_ = false;
    return true;
  }

  bool add(const at::Tensor& tensor, Use use) {
    if (!tensor.defined()) return true;
    if (!is_plain(tensor)) return false;
    if (!tensor.is_cuda()) {
      is_computed_ &= use == Use::kRead;
      return true;
    }
    is_of_card_ = true;
    const Span span = span_of(tensor);
    if (span.end == span.begin) return tensor.numel() == 0;
    spans_.push_back({span.begin, span.end, use == Use::kRead ? 0U : 1U, span.run, span.step});
    if (!is_computed_) return true;
    most_ = std::min(most_, most_bytes(operation_, tensor));
    is_computed_ = span.end - span.begin <= std::max(most_, kMostExtent);
    if (!is_computed_) return true;
    bytes_ += span.bytes();
    const bool is_read = use == Use::kRead || use == Use::kChanged;
    const bool is_known_here = is_read && is_span_known(span);
    has_known_ |= is_known_here;
    has_unknown_ |= is_read && !is_known_here;
    absorbs_ &= at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
    is_computed_ = bytes_ <= most_ && bytes_of(tensor) <= most_ && (!has_unknown_ || absorbs_);
    return true;
  }

  inline static thread_local std::vector<OperandSpan> spans_;  // keeps its capacity
  const Operation& operation_;
  bool absorbs_;
  bool is_computed_;
  uint64_t most_ = kMostRouted;  // bytes, of all tensors
  bool is_of_card_ = false;
  bool has_known_ = false;
  bool has_unknown_ = false;
  uint64_t bytes_ = 0;
};

// The arguments with the card's tensors as copies on the host.
class Copies {
 public:
  // In an absorbing operation, every bit of an unknown argument becomes `guess`.
  Copies(Running& running, bool guess) : running_(running), guess_(guess) {}

  // nullopt when a value turns out to be unknown.
  std::optional<std::vector<c10::IValue>> make(c10::ArrayRef<const c10::IValue> inputs) {
    std::vector<c10::IValue> copies;
    for (size_t i = 0; i < inputs.size(); ++i) {
      copies.push_back(copy(inputs[i], running_.operation->arguments[i]));
    }
    const bool is_known = !has_guessed_ || running_.operation->absorbs;
    return is_known ? std::optional(std::move(copies)) : std::nullopt;
  }
  bool has_guessed() const { return has_guessed_; }

 private:
  c10::IValue copy(const c10::IValue& value, Use use) {
    if (value.isTensor()) return copy(value.toTensor(), use);
    if (value.isTensorList()) {
      std::vector<at::Tensor> all = value.toTensorVector();
      for (at::Tensor& one : all) one = copy(one, use);
      return all;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> all;
      for (const std::optional<at::Tensor>& one : value.toOptionalTensorVector()) {
        all.push_back(one ? std::optional(copy(*one, use)) : std::nullopt);
      }
      return all;
    }
    return value;
  }

  at::Tensor copy(const at::Tensor& tensor, Use use) {
    if (!tensor.defined() || !tensor.is_cuda()) return tensor;
    at::Tensor host = use == Use::kOut ? empty_on_host(tensor, {0}, {1})
                                       : empty_on_host(tensor, tensor.sizes(), tensor.strides());
    const Span span = span_of(tensor);
    if ((use == Use::kRead || use == Use::kChanged) && span.end > span.begin) {
      if (!read(span, host.mutable_data_ptr())) {
        has_guessed_ = true;
        const int ones = tensor.scalar_type() == at::kBool ? 1 : 0xFF;
        std::memset(host.mutable_data_ptr(), guess_ ? ones : 0, span.end - span.begin);
      }
    }
    if (use != Use::kRead) {
      running_.written.push_back(tensor);
      running_.written_copies.push_back(host);
    }
    return host;
  }

  Running& running_;
  const bool guess_;
  bool has_guessed_ = false;
};

std::optional<HostArguments> on_host(Running& running, c10::ArrayRef<const c10::IValue> inputs) {
  Copies copies(running, false);
  auto values = copies.make(inputs);
  if (!values) return std::nullopt;
  HostArguments arguments{.values = std::move(*values), .otherwise = std::nullopt};
  if (copies.has_guessed()) arguments.otherwise = Copies(running, true).make(inputs);
  return arguments;
}

// The arguments of a copy of a list of tensors, without the pairs whose source is unknown.
std::vector<c10::IValue> known_copies(c10::ArrayRef<const c10::IValue> inputs) {
  const std::vector<at::Tensor> all_targets = inputs[0].toTensorVector();
  const std::vector<at::Tensor> all_sources = inputs[1].toTensorVector();
  std::vector<at::Tensor> targets;
  std::vector<at::Tensor> sources;
  for (size_t i = 0; i < std::min(all_targets.size(), all_sources.size()); ++i) {
    if (all_sources[i].is_cuda() && !is_span_known(span_of(all_sources[i]))) continue;
    targets.push_back(all_targets[i]);
    sources.push_back(all_sources[i]);
  }
  return {targets, sources, inputs[2]};
}

// Uses the given count of an unknown mask, or the value of all its elements.
void look_at_mask(Running& running, const at::Tensor& mask) {
  if (running.operation->of_uniform != OfUniform::kNothing) running.uniform = uniform_value(mask);
  if (running.operation->inside != Inside::kCount) return;
  if (const std::optional<bool> uniform = uniform_value(mask)) {
    const int count = *uniform ? static_cast<int>(mask.numel()) : 0;
    return stand_in().answer_next(&count, sizeof count);
  }
  running.mask = mask;
  answer_given_count(mask);
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  const Operation* operation = find_operation(function);
  if (operation == nullptr || operation->is_view) return nullptr;
  c10::ArrayRef<const c10::IValue> inputs = function.inputs();
  if (inputs.size() > operation->arguments.size()) return nullptr;
  Memory memory(*operation);
  if (!memory.add(inputs)) return nullptr;
  memory.push();
  auto running = std::make_unique<Running>();
  running->operation = operation;
  if (operation->selects && selects_experts(inputs)) {
    running->experts = inputs[0].toTensor().size(-1);
    return running;
  }
  answer_well(*operation);
  std::vector<c10::IValue> part;
  bool is_computed = memory.is_computed();
  if (operation->copies_lists && memory.is_unknown()) {
    part = known_copies(inputs);
    inputs = c10::ArrayRef<const c10::IValue>(part.data(), part.size());
    Memory of_part(*operation);
    is_computed = of_part.add(inputs) && of_part.is_computed();
  }
  if (!is_computed) {
    if (memory.is_unknown() && inputs[0].isTensor()) look_at_mask(*running, inputs[0].toTensor());
    return running;
  }
  const at::RecordFunctionGuard not_ours(false);
  const OneThread alone;
  running->arguments = on_host(*running, inputs);
  const bool is_asked =
      operation->inside == Inside::kVerdict || operation->inside == Inside::kCount;
  if (running->arguments && is_asked) {
    answer_inside(*operation, running->arguments->values);
  }
  return running;
}

void note_resize(const std::vector<c10::IValue>& outputs) {
  if (outputs.empty() || !outputs.front().isTensor()) return;
  const at::Tensor& tensor = outputs.front().toTensor();
  if (!tensor.defined() || !is_plain(tensor) || !tensor.is_cuda()) return;
  const Span span = span_of(tensor);
  if (span.end > span.begin) stand_in().complete(span.begin, span.end - span.begin);
}

// Writes the assumed results of an operation on unknown values.
void assume(const Running& running, const std::vector<c10::IValue>& outputs) {
  const Operation& operation = *running.operation;
  if (operation.of_finite) assume_uniform(operation, outputs, *operation.of_finite);
  if (running.uniform) {
    const bool is_same = operation.of_uniform == OfUniform::kSame;
    assume_uniform(operation, outputs, *running.uniform == is_same);
  }
  const bool has_indices = outputs.size() == 1 && outputs.front().isTensor();
  if (running.mask.defined() && has_indices) {
    keep_given_count(running.mask, outputs.front().toTensor());
  }
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  auto* running = static_cast<Running*>(context);
  if (running == nullptr) return;
  if (running->operation->is_resize) return note_resize(function.outputs());
  const at::RecordFunctionGuard not_ours(false);
  const OneThread alone;
  if (running->experts > 0) return write_selection(function.outputs(), running->experts);
  if (!running->arguments) return assume(*running, function.outputs());
  std::vector<Result> results;
  for (size_t i = 0; i < running->written.size(); ++i) {
    results.push_back({running->written[i], running->written_copies[i]});
  }
  const std::vector<at::Tensor> made = made_on_card(*running->operation, function.outputs());
  if (made.empty() && results.empty()) return;
  compute(*running->operation, std::move(*running->arguments), made, std::move(results));
}

void watch_blocks() {
  using c10::CachingDeviceAllocator::TraceEntry;
  c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker([](const TraceEntry& entry) {
    if (entry.action_ == TraceEntry::ALLOC) stand_in().add_block(entry.addr_, entry.size_);
    if (entry.action_ == TraceEntry::FREE_COMPLETED) stand_in().remove_block(entry.addr_);
  });
}

}  // namespace
}  // namespace headroom

// Called once per process, after CUDA was started.
extern "C" void headroom_watch_operations() {
  using namespace headroom;
  if (!stand_in().is_whole()) return;
  if (is_routing()) stand_in().keep_more(kMostRouted, 4 * kMostRouted);
  try {
    watch_blocks();
  } catch (const std::exception&) {
    return;  // an allocator without traces (cudaMallocAsync)
  }
  at::addGlobalCallback(at::RecordFunctionCallback(begin, end)
                            .needsInputs(true)
                            .needsOutputs(true)
                            .scopes({at::RecordScope::FUNCTION}));
}
