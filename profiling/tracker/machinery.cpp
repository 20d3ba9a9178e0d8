#include "profiling/tracker/machinery.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace headroom {
namespace {

// "at::(anonymous namespace)::create_out(...)" without the arguments, which name other things.
std::string_view without_arguments(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  for (size_t i = name.find('('); i != std::string_view::npos; i = name.find('(', i)) {
    if (name.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size();
    } else {
      return name.substr(0, i);
    }
  }
  return name;
}

bool contains_one_of(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

bool is_machinery(const Frame& frame) {
  // Inlined calls have only their short names.
  if (frame.filename.find("tracker/forward_calls.cpp") != std::string::npos) return true;
  const std::string_view name = without_arguments(frame.name);
  if (name.starts_with("headroom::")) {
    return contains_one_of(
        name,
        {"StackTable::", "HostAllocator::", "HostAllocationTable::", "::capture_context",
         "::note_early_block", "::begin_program_snapshot", "::attach_at", "::on_block_of_program"});
  }
  if (contains_one_of(
          name, {"torch::unwind::", "at::RecordFunction::", "c10::Dispatcher::runRecordFunction",
                 "::CUDACachingAllocator::", "::reportMemoryUsageToProfiler", "c10::StorageImpl",
                 "at::TensorIteratorBase::", "::create_out", "::set_output_"})) {
    return true;
  }
  const bool is_libtorch = name.starts_with("at::") || name.starts_with("torch::");
  return is_libtorch && contains_one_of(name, {"empty"});
}

bool is_between(const Frame& frame) {
  return frame.name.empty() || frame.name == "??" ||
         contains_one_of(frame.name, {"c10::impl::wrap_kernel_functor"});
}

}  // namespace

ptrdiff_t machinery_frames(const std::vector<Frame>& frames, const std::vector<int32_t>& stack) {
  size_t cut = 0;
  for (size_t i = 0; i + 1 < stack.size(); ++i) {
    const Frame& frame = frames[static_cast<size_t>(stack[i])];
    if (is_machinery(frame)) {
      cut = i + 1;
    } else if (!is_between(frame)) {
      break;
    }
  }
  return static_cast<ptrdiff_t>(cut);
}

}  // namespace headroom
