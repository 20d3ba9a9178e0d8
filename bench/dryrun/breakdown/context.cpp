#include "bench/dryrun/breakdown/context.h"

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace headroom {
namespace {

// Finds a text without a copy of it.
struct HashOfText {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
struct Names {
  std::mutex mutex;
  std::unordered_map<std::string, uint32_t, HashOfText, std::equal_to<>> numbers;
  std::deque<std::string> texts = {""};
};
Names& names() {
  static auto* const all = new Names;  // threads may outlive the process's end
  return *all;
}

struct Calls {
  std::mutex mutex;
  std::unordered_set<uint64_t> running;
  uint64_t last = 0;
};
Calls& calls() {
  static auto* const all = new Calls;
  return *all;
}

struct Call {
  uint32_t module = 0;
  uint64_t number = 0;
  bool in_backward = false;
};
struct RunningOperation {
  const char* name = nullptr;
  bool is_backward = false;
};
struct Thread {
  std::vector<Call> calls;
  std::vector<RunningOperation> operations;
  uint32_t place = 0;
  Hint hint = Hint::kNone;
  int optimizers = 0;
};
Thread& thread() {
  thread_local Thread own;
  return own;
}

std::atomic<int> backward_depth = 0;
std::atomic<int> optimizer_depth = 0;
std::atomic<uint64_t> backwards = 0;
std::atomic<uint32_t> backward_place = 0;
std::atomic<uint32_t (*)()> running_node = nullptr;

void end_call(const Call& call) {
  const std::scoped_lock lock(calls().mutex);
  calls().running.erase(call.number);
}

// The node of the engine, or the operation that the program called.
std::string_view operation_of(const Thread& own, bool wants_node) {
  size_t first = 0;
  for (size_t i = 0; i < own.operations.size(); ++i) {
    if (own.operations[i].is_backward) first = i + (wants_node ? 0 : 1);
  }
  if (first >= own.operations.size()) return "";
  std::string_view name = own.operations[first].name;
  constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
  if (name.starts_with(kEngine)) name.remove_prefix(kEngine.size());
  return name;
}

}  // namespace

uint32_t number_of(std::string_view text) {
  if (text.empty()) return 0;
  const std::scoped_lock lock(names().mutex);
  const auto found = names().numbers.find(text);
  if (found != names().numbers.end()) return found->second;
  const auto number = static_cast<uint32_t>(names().texts.size());
  names().numbers.emplace(text, number);
  names().texts.emplace_back(text);
  return number;
}

std::string text_of(uint32_t number) {
  const std::scoped_lock lock(names().mutex);
  return number < names().texts.size() ? names().texts[number] : "";
}

void enter_module(uint32_t name) {
  Call call{.module = name, .in_backward = backward_depth > 0};
  {
    const std::scoped_lock lock(calls().mutex);
    call.number = ++calls().last;
    calls().running.insert(call.number);
  }
  thread().calls.push_back(call);
}

void leave_module(uint32_t name) {
  std::vector<Call>& running = thread().calls;
  size_t depth = running.size();
  while (depth > 0 && running[depth - 1].module != name) --depth;
  if (depth == 0) return;
  for (; running.size() >= depth; running.pop_back()) end_call(running.back());
}

bool is_call_over(uint64_t call) {
  if (call == 0) return true;
  const std::scoped_lock lock(calls().mutex);
  return !calls().running.contains(call);
}

void begin_backward(uint32_t place) {
  // A step that an error ended has not said so; a step that itself runs backward (LBFGS) is then
  // taken for the program's own code.
  if (thread().optimizers > 0) {
    optimizer_depth -= thread().optimizers;
    thread().optimizers = 0;
  }
  if (backward_depth++ > 0) return;
  ++backwards;
  backward_place = place;
}
void end_backward() { --backward_depth; }
int running_backwards() { return backward_depth; }
void begin_optimizer() {
  ++optimizer_depth;
  ++thread().optimizers;
}
bool end_optimizer() {
  if (thread().optimizers == 0) return true;
  --optimizer_depth;
  return --thread().optimizers == 0;
}

Moment moment() {
  return {.in_backward = backward_depth > 0,
          .in_optimizer = optimizer_depth > 0,
          .backwards = backwards};
}

void push_operation(const char* name, bool is_backward) {
  thread().operations.push_back({name, is_backward});
}
void pop_operation() {
  if (!thread().operations.empty()) thread().operations.pop_back();
}

void set_running_node(uint32_t (*node)()) { running_node = node; }

void set_place(uint32_t place, Hint hint) {
  thread().place = place;
  thread().hint = hint;
}

Origin origin() {
  Thread& own = thread();
  Origin known{.hint = own.hint, .place = own.place};
  own.place = 0;
  own.hint = Hint::kNone;
  const bool in_backward = backward_depth > 0;
  if (!own.calls.empty()) {
    known.module = own.calls.back().module;
    known.call = own.calls.back().number;
    known.phase = own.calls.back().in_backward ? Phase::kRecomputation : Phase::kForward;
  } else if (own.optimizers > 0) {
    known.phase = Phase::kOptimizer;
  } else if (in_backward) {
    known.phase = Phase::kBackward;
  }
  if (known.place == 0 && in_backward) known.place = backward_place;
  const bool wants_node = known.phase == Phase::kBackward;
  uint32_t (*const node)() = running_node;
  if (wants_node && node != nullptr) known.operation = node();
  if (known.operation == 0) known.operation = number_of(operation_of(own, wants_node));
  return known;
}

}  // namespace headroom
