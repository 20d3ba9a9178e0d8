#include "profiling/snapshot/pickle/pickle_read.h"

#include <bit>
#include <utility>

#include "profiling/snapshot/pickle/pickle_refusals.h"

namespace headroom {
namespace {

constexpr int64_t kSafeInteger = int64_t{1} << 53;

}  // namespace

const PickleValue* Pickle::find(const PickleValue& dict, uint32_t key) const {
  if (dict.kind != PickleKind::kDict) return nullptr;
  const std::vector<PickleValue>& entries = items(dict);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->key == key) return &*entry;
  }
  return nullptr;
}

std::optional<uint32_t> Pickle::find_text(std::string_view text) const {
  const auto found = text_index_.find(text);
  if (found == text_index_.end()) return std::nullopt;
  return found->second;
}

// The pickle machine: a stack, marks into it, a memo. Every step checks its operands.
class PickleReader {
 public:
  PickleReader(Pickle& pickle, ByteReader& file, EventTaker* taker)
      : pickle_(pickle), file_(file), taker_(taker) {}

  void run() {
    constexpr uint64_t kBeginning = 1024;
    const std::string_view beginning = file_.peek(kBeginning);
    if (beginning.empty() || static_cast<uint8_t>(beginning[0]) != 0x80) {
      throw PickleError(why_not_a_pickle(beginning));
    }
    while (true) {
      start_ = file_.at();
      pickle_.facts_.bytes = start_ + 1;
      if (start_ > UINT32_MAX) {  // values are numbered with 32 bits, and cost a byte each
        throw PickleError("more than 4 GiB; no viewer opens such a file");
      }
      if (file_.peek(1).empty()) {
        throw PickleError("the file ends at byte " + std::to_string(start_) +
                          " without its end mark: it is cut short");
      }
      const uint8_t opcode = take_byte();
      if (opcode == '.') break;  // STOP
      step(opcode);
    }
    pickle_.root_ = pop();
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw PickleError("byte " + std::to_string(start_) + ": " + problem);
  }

  std::string_view take(uint64_t size) {
    const std::string_view taken = file_.take(size);
    if (taken.size() < size) {
      fail("the file ends at byte " + std::to_string(file_.at()) +
           " in the middle of a value: it is cut short");
    }
    return taken;
  }
  uint8_t take_byte() { return static_cast<uint8_t>(take(1)[0]); }
  uint64_t take_little_endian(int size) {
    const std::string_view taken = take(size);
    uint64_t value = 0;
    for (int i = size - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(taken[i]);
    return value;
  }

  PickleValue pop() {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) fail("a value is taken that was never written");
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue& top() {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) fail("a value is used that was never written");
    return stack_.back();
  }
  void push(PickleKind kind, int64_t integer = 0) {
    PickleValue value{.kind = kind};
    value.integer = integer;
    stack_.push_back(value);
  }
  void push_integer(int64_t value) {
    if (value > kSafeInteger || value < -kSafeInteger) ++pickle_.facts_.unsafe_integers;
    push(PickleKind::kInteger, value);
  }
  void push_container(PickleKind kind, std::vector<PickleValue> items = {}) {
    PickleValue value{.kind = kind};
    value.index = static_cast<uint32_t>(pickle_.containers_.size());
    pickle_.containers_.push_back(std::move(items));
    stack_.push_back(value);
  }
  void push_text(std::string_view text) {
    const auto found = pickle_.text_index_.find(text);
    PickleValue value{.kind = PickleKind::kText};
    if (found != pickle_.text_index_.end()) {
      value.index = found->second;
    } else {
      value.index = intern(text);
    }
    stack_.push_back(value);
  }
  uint32_t intern(std::string_view text) {
    const uint32_t index = static_cast<uint32_t>(pickle_.texts_.size());
    pickle_.texts_.emplace_back(text);
    pickle_.text_index_.emplace(pickle_.texts_.back(), index);
    return index;
  }

  size_t pop_mark() {
    if (marks_.empty()) fail("a batch ends that never began");
    const size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  std::vector<PickleValue> take_from(size_t mark) {
    const auto begin = stack_.begin() + static_cast<ptrdiff_t>(mark);
    std::vector<PickleValue> items(begin, stack_.end());
    stack_.resize(mark);
    return items;
  }
  std::vector<PickleValue> take_last(size_t count) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor < count) fail("a tuple is longer than the written values");
    return take_from(stack_.size() - count);
  }
  std::vector<PickleValue>& container_on_top(PickleKind kind, const char* what) {
    const PickleValue& value = top();
    if (value.kind != kind) fail(std::string("items are added to something that is no ") + what);
    return pickle_.containers_[value.index];
  }

  PickleValue keyed(const PickleValue& key, PickleValue value) {
    if (key.kind == PickleKind::kText) {
      value.key = key.index;
    } else if (key.kind == PickleKind::kInteger) {  // JavaScript makes it a string too
      const std::string text = std::to_string(key.integer);
      const auto known = pickle_.find_text(text);
      value.key = known ? *known : intern(text);
    } else {
      fail("a dict has a key that is not a string");
    }
    return value;
  }
  std::vector<PickleValue> take_pairs(size_t mark) {
    if ((stack_.size() - mark) % 2 != 0) fail("a dict has a key without a value");
    std::vector<PickleValue> entries;
    entries.reserve((stack_.size() - mark) / 2);
    for (size_t i = mark; i < stack_.size(); i += 2) {
      entries.push_back(keyed(stack_[i], stack_[i + 1]));
    }
    stack_.resize(mark);
    return entries;
  }

  void put(uint64_t memo) {
    const PickleValue value = top();
    if (memo < memo_.size()) {
      memo_[memo] = value;
    } else if (memo == memo_.size()) {
      memo_.push_back(value);
    } else {
      sparse_memo_[memo] = value;  // a number in the file never sets a size
    }
  }
  void get(uint64_t memo) {
    const auto sparse = sparse_memo_.find(memo);
    if (sparse != sparse_memo_.end()) {
      stack_.push_back(sparse->second);
    } else if (memo < memo_.size()) {
      stack_.push_back(memo_[memo]);
    } else {
      fail("refers to value " + std::to_string(memo) + ", which was never remembered");
    }
  }

  void proto() {
    const int version = take_byte();
    // 5 has the same values; the validator reports that the viewer refuses it.
    if (version < 2 || version > 5) {
      fail("pickle protocol " + std::to_string(version) + "; memory_viz reads 2 to 4");
    }
    pickle_.facts_.protocol = version;
  }
  void long1() {
    const uint8_t size = take_byte();
    const std::string_view taken = take(size);
    uint64_t value = size > 0 && static_cast<uint8_t>(taken[size - 1]) >= 128 ? UINT64_MAX : 0;
    for (int i = (size < 8 ? size : 8) - 1; i >= 0; --i) {
      value = value << 8 | static_cast<uint8_t>(taken[i]);
    }
    if (size <= 8) return push_integer(static_cast<int64_t>(value));
    ++pickle_.facts_.big_integers;
    push(PickleKind::kBigInteger, static_cast<int64_t>(value));
  }
  void binfloat() {
    uint64_t bits = 0;
    for (const char byte : take(8)) bits = bits << 8 | static_cast<uint8_t>(byte);
    PickleValue value{.kind = PickleKind::kReal};
    value.real = std::bit_cast<double>(bits);
    stack_.push_back(value);
  }
  void appends() {
    const size_t mark = pop_mark();
    std::vector<PickleValue> items = take_from(mark);
    if (items.size() > pickle_.facts_.largest_batch) {
      pickle_.facts_.largest_batch = items.size();
      pickle_.facts_.largest_batch_offset = start_;
    }
    std::vector<PickleValue>& list = container_on_top(PickleKind::kList, "list");
    list.insert(list.end(), items.begin(), items.end());
  }
  void setitems(std::vector<PickleValue> entries) {
    std::vector<PickleValue>& dict = container_on_top(PickleKind::kDict, "dict");
    if (dict.empty()) {
      dict = std::move(entries);
    } else {
      dict.insert(dict.end(), entries.begin(), entries.end());
    }
    if (taker_ == nullptr) return;
    if (const auto trace = trace_of_top()) {
      taker_->take_event(trace->device, trace->entry, stack_.back());
      std::vector<PickleValue>().swap(pickle_.containers_[stack_.back().index]);  // and its memory
    }
  }

  struct TracePlace {
    size_t device, entry;
  };
  // True if the value on top is an item of a trace: root dict, "device_traces", list of traces,
  // trace. A list of one trace is written without a batch, so without a mark.
  std::optional<TracePlace> trace_of_top() const {
    if (marks_.size() < 2 || marks_.size() > 3 || marks_[0] != 1) return std::nullopt;
    const size_t items = marks_.back();
    const size_t first = marks_.size() == 3 ? marks_[1] : items - 1;  // trace of the batch
    if (first < 3 || first >= items || items >= stack_.size()) return std::nullopt;
    const PickleValue& trace = stack_[items - 1];
    const PickleValue& traces = stack_[first - 1];
    const PickleValue& key = stack_[first - 2];
    if (trace.kind != PickleKind::kList || traces.kind != PickleKind::kList ||
        key.kind != PickleKind::kText || pickle_.texts_[key.index] != "device_traces") {
      return std::nullopt;
    }
    const auto count = [&](const PickleValue& list) {
      return pickle_.containers_[list.index].size();
    };
    return TracePlace{.device = count(traces) + items - 1 - first,
                      .entry = count(trace) + stack_.size() - 1 - items};
  }

  void step(uint8_t opcode) {
    switch (opcode) {
      case 0x80:
        return proto();
      case 0x95:  // FRAME: a hint for readers of streams
        take(8);
        return;
      case '(':
        return marks_.push_back(stack_.size());
      case 'N':
        return push(PickleKind::kNone);
      case 0x88:
        return push(PickleKind::kBool, 1);
      case 0x89:
        return push(PickleKind::kBool, 0);
      case 'K':
        return push_integer(take_byte());
      case 'M':
        return push_integer(static_cast<int64_t>(take_little_endian(2)));
      case 'J':
        return push_integer(static_cast<int32_t>(take_little_endian(4)));
      case 0x8A:
        return long1();
      case 'G':
        return binfloat();
      case 0x8C:
        return push_text(take(take_byte()));
      case 'X':
        return push_text(take(take_little_endian(4)));
      case 0x94:  // MEMOIZE
        return put(memo_.size());
      case 'q':
        return put(take_byte());
      case 'r':
        return put(take_little_endian(4));
      case 'h':
        return get(take_byte());
      case 'j':
        return get(take_little_endian(4));
      default:
        return step_container(opcode);
    }
  }

  void step_container(uint8_t opcode) {
    switch (opcode) {
      case '}':
        return push_container(PickleKind::kDict);
      case 'd':
        return push_container(PickleKind::kDict, take_pairs(pop_mark()));
      case ']':
        return push_container(PickleKind::kList);
      case 'l':
        return push_container(PickleKind::kList, take_from(pop_mark()));
      case ')':
        return push_container(PickleKind::kTuple);
      case 't':
        return push_container(PickleKind::kTuple, take_from(pop_mark()));
      case 0x85:
      case 0x86:
      case 0x87:
        return push_container(PickleKind::kTuple, take_last(opcode - 0x84U));
      case 'a': {
        const PickleValue value = pop();
        return container_on_top(PickleKind::kList, "list").push_back(value);
      }
      case 'e':
        return appends();
      case 's': {
        const PickleValue value = pop();
        const PickleValue key = pop();
        return setitems({keyed(key, value)});
      }
      case 'u':
        return setitems(take_pairs(pop_mark()));
      default:
        fail(why_refused(opcode));
    }
  }

  Pickle& pickle_;
  ByteReader& file_;
  EventTaker* taker_;
  uint64_t start_ = 0;  // of the current opcode
  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;
  std::vector<PickleValue> memo_;
  std::unordered_map<uint64_t, PickleValue> sparse_memo_;
};

void Pickle::read(ByteReader& file, EventTaker* taker) { PickleReader(*this, file, taker).run(); }

}  // namespace headroom
