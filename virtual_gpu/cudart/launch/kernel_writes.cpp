#include "virtual_gpu/cudart/launch/kernel_writes.h"

#include <cxxabi.h>
#include <pthread.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "virtual_gpu/cudart/launch/kernels.h"

namespace virtual_gpu {
namespace {

constexpr uint64_t kMostParameterBytes = 4096;  // of all parameters of a kernel
constexpr size_t kMostParameters = 1024;

using Parameters = std::vector<Parameter>;

struct Stack {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool contains(uint64_t address) const { return address >= begin && address < end; }
};

const Stack& this_stack() {
  thread_local const Stack stack = [] {
    pthread_attr_t attributes;
    void* start = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return Stack{};
    pthread_attr_getstack(&attributes, &start, &bytes);
    pthread_attr_destroy(&attributes);
    const auto begin = reinterpret_cast<uint64_t>(start);
    return Stack{begin, begin + bytes};
  }();
  return stack;
}

bool is_number(std::string_view type) {
  constexpr std::array<std::string_view, 15> kNumbers = {
      "int",   "unsigned int",  "long",           "unsigned long",      "bool",
      "float", "double",        "long long",      "unsigned long long", "char",
      "short", "unsigned char", "unsigned short", "signed char",        "__half"};
  return std::find(kNumbers.begin(), kNumbers.end(), type) != kNumbers.end();
}

Parameter parameter_of(std::string_view type) {
  while (!type.empty() && type.front() == ' ') type.remove_prefix(1);
  if (is_number(type)) return Parameter::kNumber;
  if (type.ends_with("const*")) return Parameter::kRead;
  return type.ends_with("*") ? Parameter::kPointer : Parameter::kOther;
}

bool opens(char c) { return c == '(' || c == '<' || c == '{' || c == '['; }
bool closes(char c) { return c == ')' || c == '>' || c == '}' || c == ']'; }

// Computed once per kernel and thread; nullptr if its name is not usable.
const Parameters* known_parameters(const void* kernel) {
  thread_local std::unordered_map<const void*, std::optional<Parameters>> known;
  const auto found = known.find(kernel);
  if (found != known.end()) return found->second ? &*found->second : nullptr;
  std::optional<Parameters>& entry = known[kernel];
  const char* name = kernel == nullptr ? nullptr : kernel_name(kernel);
  if (name == nullptr) return nullptr;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  if (demangled == nullptr) return nullptr;
  Parameters parameters = parameters_of(demangled.get());
  if (!parameters.empty()) entry = std::move(parameters);
  return entry ? &*entry : nullptr;
}

std::mutex descriptions_mutex;
std::unordered_map<const void*, std::shared_ptr<const Parameters>> descriptions;

// nullptr if there is none.
std::shared_ptr<const Parameters> description_of(const void* kernel) {
  const std::lock_guard lock(descriptions_mutex);
  const auto found = descriptions.find(kernel);
  return found == descriptions.end() ? nullptr : found->second;
}

uint64_t word_at(uint64_t address) {
  uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

struct FrameSearch {
  uint64_t address;
  uint64_t end;
};

_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* data) {
  auto* search = static_cast<FrameSearch*>(data);
  const uint64_t boundary = _Unwind_GetCFA(context);
  if (boundary <= search->address) return _URC_NO_REASON;
  search->end = boundary;
  return _URC_NORMAL_STOP;
}

// The end of the stack frame that contains this address; the stack's end if it is not found.
uint64_t end_of_frame(uint64_t address) {
  FrameSearch search{.address = address, .end = this_stack().end};
  _Unwind_Backtrace(look_at_frame, &search);
  return std::min(search.end, this_stack().end);
}

// A bound for a structure argument's end: the next argument, or the end of its frame or of readable
// memory.
uint64_t end_of(uint64_t begin, void** arguments, size_t count) {
  constexpr uint64_t kFew = 64;  // bytes that are scanned sooner than a frame is found
  uint64_t end = begin + kMostParameterBytes;
  for (size_t i = 0; i < count; ++i) {
    const auto other = reinterpret_cast<uint64_t>(arguments[i]);
    if (other > begin) end = std::min(end, other);
  }
  // Off the stack only the address's own page is certain to be mapped.
  if (!this_stack().contains(begin)) return std::min(end, (begin | 4095) + 1);
  return end - begin <= kFew ? end : std::min(end, end_of_frame(begin));
}

void forget_in(Contents& contents, uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at + sizeof(uint64_t) <= end; at += sizeof(uint64_t)) {
    contents.forget_through(word_at(at));
  }
}

size_t count_on_stack(void** arguments) {
  const Stack& stack = this_stack();
  size_t count = 0;
  while (count < kMostParameters) {
    const auto place = reinterpret_cast<uint64_t>(arguments + count);
    if (stack.contains(reinterpret_cast<uint64_t>(arguments)) && !stack.contains(place)) break;
    if (!stack.contains(reinterpret_cast<uint64_t>(arguments[count]))) break;
    ++count;
  }
  return count;
}

}  // namespace

std::vector<Parameter> parameters_of(const std::string& demangled) {
  if (demangled.empty() || demangled.back() != ')') return {};
  Parameters reversed;
  int depth = 0;
  size_t end = demangled.size() - 1;
  for (size_t at = demangled.size(); at-- > 0;) {
    const char c = demangled[at];
    if (c == '>' && at > 0 && demangled[at - 1] == '-') continue;  // an arrow, ->
    if (closes(c)) {
      ++depth;
    } else if (opens(c)) {
      --depth;
    }
    const bool ends_list = depth == 0 && c == '(';
    if (!ends_list && (depth != 1 || c != ',')) continue;
    const std::string_view type = std::string_view(demangled).substr(at + 1, end - at - 1);
    if (!type.empty()) reversed.push_back(parameter_of(type));
    end = at;
    if (ends_list) break;
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

void forget_written(Contents& contents, const void* kernel, void** arguments) {
  if (arguments == nullptr) return contents.forget_all();
  const Parameters* named = known_parameters(kernel);
  const std::shared_ptr<const Parameters> described =
      named == nullptr ? description_of(kernel) : nullptr;
  const Parameters* parameters = named != nullptr ? named : described.get();
  const size_t count = parameters == nullptr ? count_on_stack(arguments) : parameters->size();
  if (count == 0) return contents.forget_all();
  for (size_t i = 0; i < count; ++i) {
    const Parameter parameter = parameters == nullptr ? Parameter::kOther : (*parameters)[i];
    const auto begin = reinterpret_cast<uint64_t>(arguments[i]);
    if (parameter == Parameter::kPointer) contents.forget_through(word_at(begin));
    if (parameter == Parameter::kOther) forget_in(contents, begin, end_of(begin, arguments, count));
  }
}

void forget_description(const void* kernel) {
  const std::lock_guard lock(descriptions_mutex);
  descriptions.erase(kernel);
}

}  // namespace virtual_gpu

void virtual_gpu_kernel_parameters(const void* kernel, const char* letters) {
  using namespace virtual_gpu;
  Parameters parameters;
  for (const char letter : std::string_view(letters)) {
    parameters.push_back(letter == 'r'   ? Parameter::kRead
                         : letter == 'n' ? Parameter::kNumber
                                         : Parameter::kPointer);
  }
  const std::lock_guard lock(descriptions_mutex);
  descriptions[kernel] = std::make_shared<const Parameters>(std::move(parameters));
}
