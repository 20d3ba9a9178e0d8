#include "profiling/record/named.h"

#include <mutex>
#include <unordered_set>

namespace headroom {
namespace {

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

const std::string& kept(std::string_view text) {
  // Never freed: code that runs at exit may still read a name.
  static auto& names = *new std::unordered_set<std::string, Hash, std::equal_to<>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto found = names.find(text);
  return found != names.end() ? *found : *names.emplace(text).first;
}

}  // namespace

Name::Name(std::string_view text) : text_(&kept(text)) {}

}  // namespace headroom
