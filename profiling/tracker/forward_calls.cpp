#include "profiling/tracker/forward_calls.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/profiler/unwind/unwind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace headroom {
namespace {

constexpr size_t kMaxDepth = 128;
constexpr int64_t kNoNumber = -1;  // AccumulateGrad's, the highest number

// By thread and number of the node. Recomputation adds some from the engine's threads.
class Calls {
 public:
  static Calls& instance() {
    static auto* calls = new Calls();
    return *calls;
  }

  void begin() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
    forward_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&started, &ended).scopes({at::RecordScope::FUNCTION}));
    backward_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&node_started).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  }
  void end() {
    at::removeCallback(forward_);
    at::removeCallback(backward_);
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }

  std::vector<void*> of_running_node() {
    const auto node = torch::autograd::get_current_node();
    if (node == nullptr) return {};
    const bool numbered = static_cast<int64_t>(node->sequence_nr()) != kNoNumber;
    const std::lock_guard lock(mutex_);
    const auto found =
        calls_.find(numbered ? Node{node->thread_id(), node->sequence_nr()} : last_numbered());
    return found == calls_.end() ? std::vector<void*>{} : found->second;
  }

 private:
  using Node = std::pair<uint64_t, uint64_t>;

  // The next node of this thread.
  static Node next_node() {
    return {at::RecordFunction::currentThreadId(), at::sequence_number::peek()};
  }

  // The last numbered node that the engine ran on this thread.
  static Node& last_numbered() {
    thread_local Node node;
    return node;
  }
  static std::unique_ptr<at::ObserverContext> node_started(const at::RecordFunction& node) {
    if (node.seqNr() != kNoNumber) {
      last_numbered() = {node.forwardThreadId(), static_cast<uint64_t>(node.seqNr())};
    }
    return nullptr;
  }

  // The number of the thread's next node when an operation began.
  struct Began final : at::ObserverContext {
    explicit Began(uint64_t number) : number(number) {}
    uint64_t number;
  };

  static std::unique_ptr<at::ObserverContext> started(const at::RecordFunction&) {
    if (at::GradMode::is_enabled()) return std::make_unique<Began>(next_node().second);
    instance().note_number_taken();
    return nullptr;
  }
  static void ended(const at::RecordFunction&, at::ObserverContext* context) {
    const auto* began = static_cast<const Began*>(context);
    if (began != nullptr) instance().note_since(began->number);
  }

  // Most operations make no node. A stack is taken only for those that do.
  void note_since(uint64_t first) {
    const auto [thread, next] = next_node();
    if (next == first) return;
    const std::vector<void*> stack = stack_of_caller();
    const std::lock_guard lock(mutex_);
    for (uint64_t number = first; number < next; ++number)
      calls_.try_emplace({thread, number}, stack);
  }

  void note_number_taken() {
    Node node = next_node();
    if (node.second == 0) return;
    --node.second;
    {
      const std::lock_guard lock(mutex_);
      if (calls_.contains(node)) return;
    }
    std::vector<void*> stack = stack_of_caller();
    const std::lock_guard lock(mutex_);
    calls_.try_emplace(node, std::move(stack));
  }

  std::mutex mutex_;
  std::map<Node, std::vector<void*>> calls_;
  at::CallbackHandle forward_ = 0;
  at::CallbackHandle backward_ = 0;
};

}  // namespace

ForwardCalls::ForwardCalls() { Calls::instance().begin(); }
ForwardCalls::~ForwardCalls() { Calls::instance().end(); }

std::vector<void*> stack_of_caller() {
  std::vector<void*> stack = torch::unwind::unwind();
  if (stack.size() > kMaxDepth) stack.resize(kMaxDepth);
  return stack;
}

std::vector<void*> forward_call_of_running_node() { return Calls::instance().of_running_node(); }

}  // namespace headroom
