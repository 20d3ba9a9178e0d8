// Figures by name, a handful of them. No torch here.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

// A name of a phase, a category or a figure of theory. The process keeps one copy, for good.
class Name {
 public:
  explicit Name(std::string_view text);
  const std::string& text() const { return *text_; }
  operator const std::string&() const { return *text_; }  // NOLINT: reads like its text
  friend bool operator==(Name a, Name b) { return a.text_ == b.text_; }

 private:
  const std::string* text_;
};

// A map sorted by name. A name takes 8 bytes and an empty map 8 bytes: a file of a million Records
// is read into these. References and iterators are valid until the next name is added.
template <typename Value>
class Named {
 public:
  using Entry = std::pair<Name, Value>;
  using Entries = std::vector<Entry>;
  using iterator = typename Entries::iterator;
  using const_iterator = typename Entries::const_iterator;

  Named() = default;
  Named(Named&&) noexcept = default;
  Named& operator=(Named&&) noexcept = default;
  Named(const Named& other) { *this = other; }
  Named& operator=(const Named& other) {
    if (this == &other) return *this;
    entries_ = other.empty() ? nullptr : std::make_unique<Entries>(*other.entries_);
    return *this;
  }
  ~Named() = default;
  Named(std::initializer_list<std::pair<std::string, Value>> entries) { add(entries); }
  Named(const std::map<std::string, Value>& entries) { add(entries); }  // NOLINT: implicit

  const_iterator begin() const { return entries().begin(); }
  const_iterator end() const { return entries().end(); }
  size_t size() const { return entries().size(); }
  bool empty() const { return entries().empty(); }
  void reserve(size_t count) {
    if (count > 0) own().reserve(count);
  }

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
    Entries& all = own();
    auto at = std::lower_bound(all.begin(), all.end(), name, before);
    if (at == all.end() || at->first.text() != name) {
      at = all.insert(at, Entry{Name(name), Value{}});
    }
    return at->second;
  }
  bool operator==(const Named& other) const { return entries() == other.entries(); }

 private:
  static bool before(const Entry& entry, std::string_view name) {
    return entry.first.text() < name;
  }
  template <typename Given>
  void add(const Given& given) {
    reserve(given.size());
    for (const auto& [name, value] : given) (*this)[name] = value;
  }
  const Entries& entries() const {
    static const Entries kNone;
    return entries_ ? *entries_ : kNone;
  }
  Entries& own() {
    if (!entries_) entries_ = std::make_unique<Entries>();
    return *entries_;
  }

  std::unique_ptr<Entries> entries_;  // null = none
};

}  // namespace headroom
