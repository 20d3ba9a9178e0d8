#include "profiling/snapshot/analysis/readable_stack.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "text/words.h"

namespace headroom {
namespace {

// Past the bracket that closes the one at `open`.
size_t past_bracket(const std::string& name, size_t open, char begin, char end) {
  int depth = 0;
  for (size_t i = open; i < name.size(); ++i) {
    if (name[i] == begin) ++depth;
    if (name[i] == end && --depth == 0) return i + 1;
  }
  return name.size();
}

// "headroom::f<int>(at::Tensor const&)" -> "f": without arguments, templates and our namespace.
// Names that are not C++ ("<module>") stay.
std::string short_name(const std::string& name) {
  if (name.empty() || name[0] == '<') return name;
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  constexpr std::string_view kCallOperator = "operator()";
  constexpr std::string_view kOurs = "headroom::";
  const std::string_view view = name;
  std::string result;
  for (size_t i = 0; i < name.size();) {
    if (view.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size();
    } else if (view.substr(i).starts_with(kOurs)) {
      i += kOurs.size();
    } else if (view.substr(i).starts_with(kCallOperator)) {
      result += kCallOperator;
      i += kCallOperator.size();
    } else if (name[i] == '{') {  // {lambda(auto)#1}
      result += view.substr(i).starts_with("{lambda") ? "{lambda}" : "{}";
      i = past_bracket(name, i, '{', '}');
    } else if (name[i] == '<') {
      i = past_bracket(name, i, '<', '>');
    } else if (name[i] == '(') {
      break;
    } else {
      result += name[i++];
    }
  }
  const size_t space = result.rfind(' ');  // a return type in front
  return space == std::string::npos || space + 1 == result.size() ? result
                                                                  : result.substr(space + 1);
}

// "/any/where/model/attention.cpp" -> "model/attention.cpp"
std::string short_file(const std::string& path) {
  const size_t last = path.rfind('/');
  if (last == std::string::npos || last == 0) return path;
  const size_t before = path.rfind('/', last - 1);
  return before == std::string::npos ? path : path.substr(before + 1);
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

bool begins_with_any(const std::string& text, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char* prefix) { return text.starts_with(prefix); });
}

// CPython's own frames: inlined functions of its headers, and calls of Python functions.
bool is_of_interpreter(const Frame& frame) {
  return begins_with_any(frame.name, {"PyEval_", "_PyEval_", "PyObject_", "_PyObject_",
                                      "PyFunction_", "_PyFunction_"}) ||
         contains(frame.filename, "Include/cpython/") ||
         contains(frame.filename, "Include/internal/");
}

// The start of a thread, in Python and in C++.
bool is_of_thread(const Frame& frame) {
  return frame.filename.ends_with("/threading.py") || frame.filename.ends_with("/thread.cc") ||
         begins_with_any(frame.name, {"execute_native_thread_routine", "start_thread", "clone3"});
}

// Frames with a source line outside libtorch, the compiler, the interpreter and the recorder.
bool is_ours(const Frame& frame) {
  if (frame.filename.empty() || frame.filename == "??" || frame.line <= 0) return false;
  for (const char* part : {"/include/torch/", "torch/csrc/", "/ATen/", "/c10/", "/include/c++/",
                           "/usr/include/", "/sysdeps/", "/csu/", "/site-packages/"}) {
    if (contains(frame.filename, part)) return false;
  }
  for (const char* prefix : {"aten/", "c10/"}) {
    if (frame.filename.starts_with(prefix)) return false;
  }
  if (is_of_interpreter(frame) || is_of_thread(frame)) return false;
  // C files are of the C library or the Python interpreter: programs are C++ or Python.
  if (frame.filename.ends_with(".c") || frame.filename.ends_with(".S")) return false;
  if (contains(frame.filename, "/pycore_")) return false;
  return !short_file(frame.filename).starts_with("profiling/");  // the recorder itself
}

// The operator or autograd node of a libtorch frame: "aten::mm", "MmBackward0"; else "".
std::string operator_name(const std::string& name) {
  const size_t ops = name.find("at::_ops::");
  if (ops != std::string::npos) {
    const size_t begin = ops + 10;
    const size_t end = name.find("::", begin);
    return end == std::string::npos ? "" : "aten::" + name.substr(begin, end - begin);
  }
  const size_t apply = name.find("::apply(");
  const bool is_node = contains(name, "Backward") || contains(name, "::AccumulateGrad::");
  if (apply != std::string::npos && is_node) {
    const size_t begin = name.rfind("::", apply - 1);
    return begin == std::string::npos ? name.substr(0, apply)
                                      : name.substr(begin + 2, apply - begin - 2);
  }
  return "";
}

// Outermost first, "aten::linear > aten::addmm"; of more than four the two outermost and the
// innermost.
std::string join_operators(const std::vector<std::string>& innermost_first) {
  std::vector<std::string> chain(innermost_first.rbegin(), innermost_first.rend());
  chain.erase(std::unique(chain.begin(), chain.end()), chain.end());
  if (chain.size() > 4) chain = {chain[0], chain[1], "...", chain.back()};
  return join(chain, " > ");
}

}  // namespace

std::string readable_frame(const Frame& frame) {
  const std::string place =
      frame.line > 0 ? short_file(frame.filename) + ":" + std::to_string(frame.line) : "";
  const std::string name = short_name(frame.name);
  return place.empty() ? name : place + " " + name;
}

std::vector<std::string> readable_stack(const Snapshot& snapshot, int32_t stack) {
  std::vector<std::string> lines;
  if (stack < 0) return lines;
  std::vector<std::string> operators;
  std::string first_foreign;
  for (const int32_t index : snapshot.stacks[static_cast<size_t>(stack)]) {
    const Frame& frame = snapshot.frames[static_cast<size_t>(index)];
    if (frame.is_before_recording()) continue;
    if (frame.is_backward_of()) {
      if (!operators.empty()) lines.push_back("libtorch: " + join_operators(operators));
      operators.clear();
      lines.emplace_back(Frame::kBackwardOf);
      continue;
    }
    if (is_ours(frame)) {
      std::string line = readable_frame(frame);
      if (lines.empty() || lines.back() != line) lines.push_back(std::move(line));
      continue;
    }
    const std::string name = operator_name(frame.name);
    if (!name.empty()) operators.push_back(name);
    if (first_foreign.empty()) first_foreign = short_name(frame.name);
  }
  if (!operators.empty()) {
    lines.push_back("libtorch: " + join_operators(operators));
  } else if (lines.empty() && !first_foreign.empty()) {
    lines.push_back(first_foreign);
  }
  return lines;
}

}  // namespace headroom
