// libheadroom_operations.so: tells the stand-in what libtorch's operations read and write, and what
// they make of small values that are known. Loaded by the Python hook of `headroom dryrun`.
//
// Note [Operations on known values]
// Rationale: a program decides by what kernels compute of values that it put on the card itself: a
//   mask's maximum, whether all are equal. The stand-in sees pointers of kernels; libtorch knows
//   which operation they belong to.
// Approach: a callback around every operation of libtorch (as its profiler has) names the memory
//   that it reads and writes, so that what it only reads stays known. Where all that it reads is
//   known and small, the same operation is run by libtorch's own CPU kernels, and the result is
//   what the card holds from then on. libtorch's allocator tells where its blocks begin and end.
// Limits: integers and booleans up to 64 KiB, other numbers up to 4 KiB an operation; nothing
//   random. Floating point is the CPU's: its last bits may differ from a card's. What allocates by
//   values (nonzero) stays unknown. C++ programs and other versions than this was built for have
//   only what copies make known.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <memory>
#include <optional>
#include <vector>

#include "bench/dryrun/operation.h"
#include "bench/dryrun/stand_in.h"

namespace headroom {
namespace {

// From the beginning of an operation to its end.
struct Running : at::ObserverContext {
  ~Running() override {
    if (has_operands) stand_in().pop_operands();
    if (operation->inside != Inside::kNothing) stand_in().answer_next(nullptr, 0);
  }
  const Operation* operation = nullptr;
  bool has_operands = false;
  // With the tensors of the card as copies on the host; none when it is not to be computed.
  std::optional<std::vector<c10::IValue>> arguments;
  std::vector<at::Tensor> written;         // of the card
  std::vector<at::Tensor> written_copies;  // in the same order
};

struct Spans {
  std::vector<uint64_t> begins, ends;
  std::vector<int> are_written;
};

// Goes through an operation's arguments once.
class Reader {
 public:
  Reader(const Operation& operation, Running& running)
      : operation_(operation), running_(running), is_computed_(operation.is_computed) {}

  void read(c10::ArrayRef<const c10::IValue> inputs) {
    std::vector<c10::IValue> copies;
    for (size_t i = 0; i < inputs.size() && i < operation_.arguments.size(); ++i) {
      copies.push_back(copy(inputs[i], operation_.arguments[i]));
      if (is_strange_) return;
    }
    stand_in().push_operands(spans_.begins.data(), spans_.ends.data(), spans_.are_written.data(),
                             spans_.begins.size());
    running_.has_operands = true;
    if (is_computed_ && is_of_card_) running_.arguments = std::move(copies);
  }

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
    // One that makes its result on the card by itself; what it calls for that is seen.
    if (value.isDevice()) is_computed_ = false;
    return value;
  }

  at::Tensor copy(const at::Tensor& tensor, Use use) {
    if (!tensor.defined()) return tensor;
    if (!is_plain(tensor)) {
      is_strange_ = true;
      return tensor;
    }
    if (!tensor.is_cuda()) {
      is_computed_ &= use == Use::kRead;
      return tensor;
    }
    is_of_card_ = true;
    const Span span = span_of(tensor);
    if (span.end == span.begin && tensor.numel() > 0) {
      is_strange_ = true;
      return tensor;
    }
    if (span.end > span.begin) {
      spans_.begins.push_back(span.begin);
      spans_.ends.push_back(span.end);
      spans_.are_written.push_back(use == Use::kRead ? 0 : 1);
    }
    bytes_ += span.end - span.begin;
    is_computed_ = is_computed_ && is_small(tensor) && bytes_ <= kMostBytes;
    if (!is_computed_) return tensor;
    at::Tensor host = use == Use::kOut ? empty_on_host(tensor, {0}, {1})
                                       : empty_on_host(tensor, tensor.sizes(), tensor.strides());
    if (use == Use::kRead || use == Use::kChanged) {
      const uint64_t bytes = span.end - span.begin;
      is_computed_ = bytes == 0 || stand_in().read(span.begin, bytes, host.mutable_data_ptr()) != 0;
    }
    if (use != Use::kRead) {
      running_.written.push_back(tensor);
      running_.written_copies.push_back(host);
    }
    return host;
  }

  const Operation& operation_;
  Running& running_;
  Spans spans_;
  bool is_computed_;
  bool is_strange_ = false;
  bool is_of_card_ = false;
  uint64_t bytes_ = 0;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  const Operation* operation = find_operation(function);
  if (operation == nullptr) return nullptr;
  const at::RecordFunctionGuard not_ours(false);
  auto running = std::make_unique<Running>();
  running->operation = operation;
  Reader(*operation, *running).read(function.inputs());
  if (!running->has_operands && !running->arguments) return nullptr;
  if (operation->inside != Inside::kNothing && running->arguments) {
    answer_inside(*operation, *running->arguments);
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

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  auto* running = static_cast<Running*>(context);
  if (running == nullptr) return;
  if (running->operation->is_resize) return note_resize(function.outputs());
  if (!running->arguments) return;
  const at::RecordFunctionGuard not_ours(false);
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

// Once in a process, after CUDA was started.
extern "C" void headroom_watch_operations() {
  using namespace headroom;
  if (!stand_in().is_whole()) return;
  try {
    watch_blocks();
  } catch (const std::exception&) {
    return;  // an allocator that tells nothing (cudaMallocAsync)
  }
  at::addGlobalCallback(at::RecordFunctionCallback(begin, end)
                            .needsInputs(true)
                            .needsOutputs(true)
                            .scopes({at::RecordScope::FUNCTION}));
}
