#include "bench/dryrun/breakdown/python_place.h"

#include <dlfcn.h>

#include <atomic>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "bench/dryrun/breakdown/context.h"

namespace headroom {
namespace {

using Object = void*;

// Exported by every Python since 3.9; the objects are not looked into.
struct Python {
  template <typename F>
  static F* find(const char* name) {
    return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  }
  int (*ensure)() = find<int()>("PyGILState_Ensure");
  void (*release)(int) = find<void(int)>("PyGILState_Release");
  void* (*own_thread)() = find<void*()>("PyGILState_GetThisThreadState");
  Object (*frame)() = find<Object()>("PyEval_GetFrame");
  Object (*code)(Object) = find<Object(Object)>("PyFrame_GetCode");
  Object (*back)(Object) = find<Object(Object)>("PyFrame_GetBack");
  int (*line)(Object) = find<int(Object)>("PyFrame_GetLineNumber");
  Object (*attribute)(Object,
                      const char*) = find<Object(Object, const char*)>("PyObject_GetAttrString");
  const char* (*utf8)(Object) = find<const char*(Object)>("PyUnicode_AsUTF8");
  void (*clear_error)() = find<void()>("PyErr_Clear");
  void (*drop)(Object) = find<void(Object)>("Py_DecRef");
  void (*keep)(Object) = find<void(Object)>("Py_IncRef");

  bool is_whole() const {
    return ensure && release && own_thread && frame && code && back && line && attribute && utf8 &&
           clear_error && drop && keep;
  }
};
const Python& python() {
  static const Python api;
  return api;
}

PlaceRules& rules() {
  static auto* const all = new PlaceRules;
  return *all;
}
std::atomic<bool> is_on = false;

enum class CodeOrigin : uint8_t { kTorch, kPackage, kOwn };
struct Code {
  std::string file;
  std::string function;
  CodeOrigin origin = CodeOrigin::kTorch;
  Hint hint = Hint::kNone;
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// True if `matches` holds for a line of `lines`.
template <typename Matches>
bool any_line(std::string_view lines, Matches matches) {
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    if (matches(lines.substr(0, end))) return true;
    lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + 1);
  }
  return false;
}

CodeOrigin origin_of(std::string_view file) {
  const auto begins = [&](std::string_view part) { return file.starts_with(part); };
  const auto contains = [&](std::string_view part) { return has(file, part); };
  const PlaceRules& all = rules();
  if (any_line(all.torch_begins, begins) || any_line(all.torch_parts, contains))
    return CodeOrigin::kTorch;
  if (any_line(all.package_begins, begins) || any_line(all.package_parts, contains))
    return CodeOrigin::kPackage;
  return CodeOrigin::kOwn;
}

Hint hint_of(std::string_view file, std::string_view function) {
  if (function == "_apply" && file.ends_with("torch/nn/modules/module.py")) return Hint::kMoved;
  if (has(file, "/torch/distributed/fsdp/") || has(file, "/deepspeed/runtime/zero/") ||
      file.ends_with("torch/nn/parallel/distributed.py") ||
      file.ends_with("torch/distributed/distributed_c10d.py") ||
      file.ends_with("torch/distributed/_functional_collectives.py")) {
    return Hint::kCommunication;
  }
  return file.ends_with("transformers/cache_utils.py") ? Hint::kCache : Hint::kNone;
}

std::string text_attribute(Object object, const char* name) {
  const Object value = python().attribute(object, name);
  const char* text = value == nullptr ? nullptr : python().utf8(value);
  std::string copy = text == nullptr ? "?" : text;
  if (text == nullptr) python().clear_error();
  if (value != nullptr) python().drop(value);
  return copy;
}

// Each is kept, so that its address stays its own. With the GIL.
const Code& code_of(Object frame) {
  static auto* const known = new std::unordered_map<Object, Code>;
  const Object code = python().code(frame);
  const auto [found, is_new] = known->try_emplace(code);
  if (is_new) {
    Code& made = found->second;
    made.file = text_attribute(code, "co_filename");
    made.function = text_attribute(code, "co_name");
    made.origin = origin_of(made.file);
    made.hint = hint_of(made.file, made.function);
  } else {
    python().drop(code);
  }
  return found->second;
}

using Line = std::pair<const Code*, int>;
Line line_of(const Code& code, Object frame) { return {&code, python().line(frame)}; }

uint32_t number_of_lines(const Line& outside, const Line& own) {
  static auto* const known = new std::map<std::pair<Line, Line>, uint32_t>;
  uint32_t& number = (*known)[{outside, own}];
  if (number != 0) return number;
  const auto text = [](const Line& line) {
    return line.first->file + "\n" + std::to_string(line.second) + "\n" + line.first->function;
  };
  number = number_of(outside == own ? text(own) : text(outside) + "\n" + text(own));
  return number;
}

// From the innermost frame outwards, until a line of the user's own.
PythonPlace walk() {
  PythonPlace place;
  Line outside{nullptr, 0};
  Line own{nullptr, 0};
  Object frame = python().frame();
  if (frame != nullptr) python().keep(frame);
  while (frame != nullptr && own.first == nullptr) {
    const Code& code = code_of(frame);
    if (place.hint == Hint::kNone) place.hint = code.hint;
    if (code.origin != CodeOrigin::kTorch && outside.first == nullptr)
      outside = line_of(code, frame);
    if (code.origin == CodeOrigin::kOwn) own = line_of(code, frame);
    const Object back = own.first == nullptr ? python().back(frame) : nullptr;
    python().drop(frame);
    frame = back;
  }
  if (frame != nullptr) python().drop(frame);
  if (outside.first != nullptr) {
    place.number = number_of_lines(outside, own.first == nullptr ? outside : own);
  }
  return place;
}

}  // namespace

void set_python_places(const PlaceRules& given) {
  rules() = given;
  is_on = python().is_whole();
}

PythonPlace python_place() {
  if (!is_on || python().own_thread() == nullptr) return {};
  const int state = python().ensure();
  const PythonPlace place = is_on ? walk() : PythonPlace{};
  python().release(state);
  return place;
}

void stop_python_places() { is_on = false; }

}  // namespace headroom
