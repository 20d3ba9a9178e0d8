// Rare values: an empty one takes 8 bytes. No torch here.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace headroom {

// std::optional behind a pointer.
template <typename Value>
class HeapOptional {
 public:
  HeapOptional() = default;
  HeapOptional(Value value)
      : value_(std::make_unique<Value>(std::move(value))) {}  // NOLINT: implicit
  HeapOptional(HeapOptional&&) noexcept = default;
  HeapOptional& operator=(HeapOptional&&) noexcept = default;
  HeapOptional(const HeapOptional& other) { *this = other; }
  HeapOptional& operator=(const HeapOptional& other) {
    if (this == &other) return *this;
    value_ = other ? std::make_unique<Value>(*other) : nullptr;
    return *this;
  }
  ~HeapOptional() = default;

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  Value& emplace() { return *(value_ = std::make_unique<Value>()); }
  Value& operator*() { return *value_; }
  const Value& operator*() const { return *value_; }
  Value* operator->() { return value_.get(); }
  const Value* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<Value> value_;  // null = none
};

// std::vector behind a pointer, for lists that are mostly empty.
template <typename Item>
class HeapList {
 public:
  using Items = std::vector<Item>;
  using value_type = Item;
  using size_type = size_t;
  using iterator = typename Items::const_iterator;
  using const_iterator = typename Items::const_iterator;

  HeapList() = default;
  HeapList(Items items) {  // NOLINT: implicit
    if (!items.empty()) items_ = std::move(items);
  }
  HeapList(std::initializer_list<Item> items) : HeapList(Items(items)) {}

  const Items& get() const {
    static const Items kNone;
    return items_ ? *items_ : kNone;
  }
  Items& edit() { return items_ ? *items_ : items_.emplace(); }
  void push_back(Item item) { edit().push_back(std::move(item)); }

  const_iterator begin() const { return get().begin(); }
  const_iterator end() const { return get().end(); }
  size_t size() const { return get().size(); }
  bool empty() const { return get().empty(); }
  const Item& operator[](size_t at) const { return get()[at]; }
  const Item& at(size_t at) const { return get().at(at); }
  const Item& front() const { return get().front(); }
  const Item& back() const { return get().back(); }
  friend bool operator==(const HeapList& a, const HeapList& b) { return a.get() == b.get(); }

 private:
  HeapOptional<Items> items_;
};

}  // namespace headroom
