#include "bench/dryrun/breakdown/cpp/cpp_place.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/dryrun/breakdown/context.h"
#include "bench/dryrun/breakdown/cpp/cpp_function.h"
#include "bench/dryrun/loaded_symbol.h"
#include "profiling/tracker/forward_calls.h"
#include "profiling/tracker/loaded_code.h"
#include "profiling/tracker/own_frames.h"
#include "profiling/tracker/symbol_table.h"

namespace headroom {
namespace {

using Stack = std::vector<void*>;
constexpr std::string_view kStack = "stack ";  // and its index

struct HashOfStack {
  size_t operator()(const Stack& stack) const {
    size_t hash = stack.size();
    for (void* counter : stack) hash = hash * 1099511628211U + reinterpret_cast<size_t>(counter);
    return hash;
  }
};

struct Stacks {
  std::mutex mutex;
  std::unordered_map<Stack, uint32_t, HashOfStack> numbers;
  std::deque<const Stack*> all;
  std::vector<LoadedCode> of_program;  // loaded after so many changes
  uint64_t changes = 0;
};
Stacks& stacks() {
  static auto* const known = new Stacks;  // threads may outlive the process's end
  return *known;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// The folder that holds ours: of lib/torch-2.11/libheadroom_breakdown.so, lib/.
std::string own_folder() {
  Dl_info own;
  if (dladdr(reinterpret_cast<void*>(&own_folder), &own) == 0) return "";
  const std::string folder = folder_of(own.dli_fname);
  return folder.empty() ? "" : folder_of(folder.substr(0, folder.size() - 1));
}

std::string libtorch_folder() {
  WantedLibrary libtorch{"/libtorch_cpu.so", ""};
  dl_iterate_phdr(find_library, &libtorch);
  return folder_of(libtorch.path);
}

bool is_of_program(const LoadedCode& code) {
  if (code.is_program) return true;
  if (code.path.find('/') == std::string::npos) return false;  // the kernel's
  // Never destroyed: the report is written at the process's end.
  static const auto* const others = new std::vector<std::string>{
      own_folder(), libtorch_folder(), "/lib/", "/lib64/", "/usr/lib/", "/usr/local/cuda"};
  const auto begins = [&](const std::string& folder) {
    return !folder.empty() && code.path.starts_with(folder);
  };
  return std::none_of(others->begin(), others->end(), begins) &&
         code.path.find("-packages/") == std::string::npos;
}

// Below the working directory from there on.
std::string short_path(const std::string& path) {
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof(folder)) == nullptr) return path;
  const std::string below = std::string(folder) + "/";
  return path.starts_with(below) ? path.substr(below.size()) : path;
}

std::string file_name(const LoadedCode& code) {
  char target[PATH_MAX];
  if (!code.is_program || realpath(code.path.c_str(), target) == nullptr)
    return code.path.substr(code.path.rfind('/') + 1);
  return std::string(target).substr(std::string_view(target).rfind('/') + 1);
}

// The innermost line of the program's own in a chain of inlined calls, or else its function.
std::string text_of_frames(const LoadedCode& code, std::vector<Frame> chain,
                           const std::string& symbol) {
  if (chain.empty()) {
    return is_of_library(symbol) ? "" : file_name(code) + " in " + short_function(symbol);
  }
  if (!symbol.empty()) chain.back().name = symbol;  // has more detail than the debug information
  for (const Frame& frame : chain) {
    if (is_library_header(frame.filename)) continue;
    return short_path(frame.filename) + ":" + std::to_string(frame.line) + " in " +
           short_function(frame.name);
  }
  return "";
}

// The texts of program counters. Used under its mutex.
class PlaceNames {
 public:
  std::mutex mutex;

  // Reads the debug information of this counter alone: that of a frame further out may be long.
  const std::string& of(void* counter) {
    if (!known_.contains(counter)) find_symbols();
    Known& known = known_[counter];
    if (known.code != nullptr) {
      std::vector<Frame> chain = own_frames_at(*known.code, {call_before(counter)}).front();
      known.text = text_of_frames(*known.code, std::move(chain), known.symbol);
      known.code = nullptr;
    }
    return known.text;
  }

 private:
  struct Known {
    const LoadedCode* code = nullptr;  // until it has a text; null: not the program's
    std::string symbol;
    std::string text;
  };

  // The symbols for the counters of all stacks that were taken until now.
  void find_symbols() {
    const std::vector<LoadedCode>& loaded = loaded_.emplace_back(loaded_code());
    std::vector<std::vector<void*>> counters(loaded.size());
    {
      const std::scoped_lock lock(stacks().mutex);
      for (const Stack* stack : stacks().all) {
        for (void* counter : *stack) {
          if (!known_.try_emplace(counter).second) continue;
          for (size_t i = 0; i < loaded.size(); ++i) {
            if (loaded[i].holds(call_before(counter))) counters[i].push_back(counter);
          }
        }
      }
    }
    for (size_t i = 0; i < loaded.size(); ++i) {
      if (!counters[i].empty() && is_of_program(loaded[i])) find_symbols_of(loaded[i], counters[i]);
    }
  }

  void find_symbols_of(const LoadedCode& code, const std::vector<void*>& counters) {
    std::vector<uint64_t> offsets;
    for (void* counter : counters) offsets.push_back(call_before(counter) - code.base);
    const std::vector<std::string> symbols = functions_at(code.path, offsets);
    for (size_t i = 0; i < counters.size(); ++i) known_[counters[i]] = {&code, symbols[i], ""};
  }

  // One byte back: the counter is the return address, possibly on the next line.
  static uint64_t call_before(void* counter) { return reinterpret_cast<uint64_t>(counter) - 1; }

  std::unordered_map<void*, Known> known_;
  std::deque<std::vector<LoadedCode>> loaded_;
};
PlaceNames& place_names() {
  static auto* const known = new PlaceNames;
  return *known;
}

// The number of libraries that were loaded or removed until now.
uint64_t changes_of_code() {
  uint64_t changes = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* first, size_t /*size*/, void* data) {
        *static_cast<uint64_t*>(data) = first->dlpi_adds + first->dlpi_subs;
        return 1;
      },
      &changes);
  return changes;
}

// The code of the program and of its own libraries. Under the mutex.
const std::vector<LoadedCode>& code_of_program() {
  const uint64_t changes = changes_of_code();
  if (stacks().changes == changes) return stacks().of_program;
  stacks().changes = changes;
  stacks().of_program = loaded_code();
  std::erase_if(stacks().of_program, [](const LoadedCode& code) { return !is_of_program(code); });
  return stacks().of_program;
}

bool has_line(const Stack& stack) {
  const std::vector<LoadedCode>& own = code_of_program();
  return std::any_of(own.begin(), own.end(), [&](const LoadedCode& code) {
    return std::any_of(stack.begin(), stack.end(), [&](void* counter) {
      return code.holds(reinterpret_cast<uint64_t>(counter));
    });
  });
}

}  // namespace

uint32_t cpp_place() {
  Stack stack = stack_of_caller();
  const std::scoped_lock lock(stacks().mutex);
  const auto [found, is_new] = stacks().numbers.try_emplace(std::move(stack));
  if (is_new && has_line(found->first)) {
    found->second = number_of(std::string(kStack) + std::to_string(stacks().all.size()));
    stacks().all.push_back(&found->first);
  }
  return found->second;
}

std::string cpp_place_text(const std::string& stack) {
  if (!stack.starts_with(kStack)) return "";
  const Stack* counters = nullptr;
  {
    const std::scoped_lock lock(stacks().mutex);
    counters = stacks().all[std::strtoul(stack.c_str() + kStack.size(), nullptr, 10)];
  }
  const std::scoped_lock lock(place_names().mutex);
  for (void* counter : *counters) {
    const std::string& text = place_names().of(counter);
    if (!text.empty()) return text;
  }
  return "";
}

}  // namespace headroom
