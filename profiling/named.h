// Figures by name, a handful of them. No torch here.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

// A text of which the process keeps one copy for good: the name of a phase, a category, a figure of
// theory.
class Name {
 public:
  explicit Name(std::string_view text);
  const std::string& text() const { return *text_; }
  operator const std::string&() const { return *text_; }  // NOLINT: read as the text that it is
  friend bool operator==(Name a, Name b) { return a.text_ == b.text_; }

 private:
  const std::string* text_;
};

// What std::map is for, in the order of the names, at 8 bytes a name: a file of a million Records
// is read into these. References and iterators live until the next name is added.
template <typename Value>
class Named {
 public:
  using Entry = std::pair<Name, Value>;
  using iterator = typename std::vector<Entry>::iterator;
  using const_iterator = typename std::vector<Entry>::const_iterator;

  Named() = default;
  Named(std::initializer_list<std::pair<std::string, Value>> entries) { add(entries); }
  Named(const std::map<std::string, Value>& entries) { add(entries); }  // NOLINT: the same

  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  void reserve(size_t count) { entries_.reserve(count); }

  const_iterator find(std::string_view name) const {
    const auto at = std::lower_bound(begin(), end(), name, before);
    return at != end() && at->first.text() == name ? at : end();
  }
  bool contains(std::string_view name) const { return find(name) != end(); }
  const Value& at(std::string_view name) const {
    const auto found = find(name);
    if (found == end()) throw std::out_of_range("nothing is named " + std::string(name));
    return found->second;
  }
  Value& operator[](std::string_view name) {
    auto at = std::lower_bound(entries_.begin(), entries_.end(), name, before);
    if (at == entries_.end() || at->first.text() != name) {
      at = entries_.insert(at, Entry{Name(name), Value{}});
    }
    return at->second;
  }
  bool operator==(const Named&) const = default;

 private:
  static bool before(const Entry& entry, std::string_view name) {
    return entry.first.text() < name;
  }
  template <typename Entries>
  void add(const Entries& entries) {
    entries_.reserve(entries.size());
    for (const auto& [name, value] : entries) (*this)[name] = value;
  }

  std::vector<Entry> entries_;
};

}  // namespace headroom
