// JSON with many holders and few writers. No torch here.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace headroom {

// An object, or any other given value, used like json. Copies share one value until one of them is
// written to; the writer then gets its own. Do not use an iterator, or a reference from a non-const
// operator[], together with a copy taken after it.
class SharedJson {
 public:
  using json = nlohmann::json;

  SharedJson() = default;
  SharedJson(json value) : value_(std::make_shared<json>(std::move(value))) {}  // NOLINT: is one
  SharedJson(json::initializer_list_t members) : SharedJson(json(members)) {}

  const json& get() const { return value_ ? *value_ : nothing(); }
  operator const json&() const { return get(); }  // NOLINT: is one

  bool is_object() const { return get().is_object(); }
  bool empty() const { return get().empty(); }
  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  auto find(std::string_view key) const { return get().find(key); }
  template <typename Key>
  bool contains(const Key& key) const {
    return get().contains(key);
  }
  template <typename Key>
  const json& at(const Key& key) const {
    return get().at(key);
  }
  template <typename Key, typename Value>
  auto value(const Key& key, const Value& otherwise) const {
    return get().value(key, otherwise);
  }
  template <typename Key>
  const json& operator[](const Key& key) const {
    return get()[key];
  }
  template <typename Key>
  json& operator[](const Key& key) {
    return edit()[key];
  }

 private:
  static const json& nothing() {
    static const json kNothing = json::object();
    return kNothing;
  }
  json& edit() {
    if (!value_ || value_.use_count() > 1) value_ = std::make_shared<json>(get());
    return *value_;
  }

  std::shared_ptr<json> value_;  // null = an empty object
};

}  // namespace headroom
