#include "virtual_gpu/report/report.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/report/host_read.h"
#include "virtual_gpu/report/json_text.h"
#include "virtual_gpu/report/refusal.h"

namespace virtual_gpu {
namespace {

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), {}};
  while (!words.empty() && words.back() == '\0') words.pop_back();
  for (char& letter : words) {
    if (letter == '\0') letter = ' ';
  }
  return words;
}

void add(std::ostream& out, const char* key, uint64_t value) {
  out << ",\"" << key << "\":" << value;
}

void add_list(std::ostream& out, const char* key, const std::vector<std::string>& words) {
  out << ",\"" << key << "\":[";
  const char* comma = "";
  for (const std::string& word : words) {
    out << comma << quoted(word);
    comma = ",";
  }
  out << "]";
}

void add_stack(std::ostream& out, const CallStack& stack) {
  out << ",\"refused_at\":[";
  const char* comma = "";
  for (const Frame& frame : named(stack)) {
    out << comma << "{\"library\":" << quoted(frame.library) << ",\"name\":" << quoted(frame.name);
    add(out, "offset", frame.offset);
    out << "}";
    comma = ",";
  }
  out << "]";
}

void add_device(std::ostream& out, const Device& device) {
  const Counters& counters = device.counters;
  out << "{\"ordinal\":" << device.ordinal() << ",\"name\":" << quoted(device.card().name);
  add(out, "total_bytes", device.card().total_bytes);
  add(out, "context_bytes", device.card().context_bytes);
  add(out, "peak_bytes", device.peak_bytes());
  add(out, "used_bytes", device.used_bytes());
  add(out, "launches", counters.launches);
  add(out, "graph_launches", counters.graph_launches);
  add(out, "matrix_products", counters.matrix_products);
  add(out, "matrix_product_flops", counters.matrix_product_flops);
  add(out, "allocations", counters.allocations);
  add(out, "frees", counters.frees);
  add(out, "refused_allocations", counters.refused_allocations);
  add(out, "largest_refused_bytes", device.refused_bytes());
  add_stack(out, device.refused_at());
  add(out, "bytes_to_device", counters.bytes_to_device);
  add(out, "bytes_to_host", counters.bytes_to_host);
  add(out, "copies_to_host", counters.copies_to_host);
  add(out, "synchronizations", counters.synchronizations);
  out << "}";
}

// Into a file of its own per process, so that many processes need no lock.
void write_report() {
  static std::atomic<bool> written{false};
  const char* prefix = getenv("HEADROOM_VIRTUAL_REPORT");
  if (prefix == nullptr || *prefix == '\0' || Machine::forked()) return;
  const std::string text = report();
  if (text.empty() || written.exchange(true)) return;
  const std::string path = std::string(prefix) + "." + std::to_string(getpid()) + ".json";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return;
  std::fputs(text.c_str(), file);
  std::fclose(file);
}

__attribute__((destructor)) void write_at_exit() { write_report(); }

// Where exit() is not called, and so the handler of machine.cpp is not.
void leave() {
  if (Machine::exists() && !Machine::forked() && headroom_observe != nullptr) headroom_observe();
  write_report();
}

}  // namespace

std::string report() {
  if (!Machine::exists()) return "";
  Machine& machine = Machine::get();
  std::ostringstream out;
  out << "{\"pid\":" << getpid() << ",\"command\":" << quoted(command_line());
  add(out, "small_host_reads", small_host_reads());
  add(out, "peak_pinned_bytes", machine.host.peak_pinned_bytes());
  add_list(out, "not_supported", refused_names());
  add_list(out, "assumed", assumptions());
  out << ",\"devices\":[";
  for (int i = 0; i < machine.count(); ++i) {
    if (i > 0) out << ",";
    add_device(out, machine.device(i));
  }
  out << "]}\n";
  return out.str();
}

}  // namespace virtual_gpu

// Programs that leave without their exit handlers (workers of multiprocessing) are reported too.
extern "C" [[noreturn]] void _exit(int code) {
  virtual_gpu::leave();
  for (;;) syscall(SYS_exit_group, code);
}

// An out-of-memory error that nobody catches ends here in C++. The second call, should ours abort,
// goes straight on.
extern "C" [[noreturn]] void abort() noexcept {
  static std::atomic<bool> is_leaving{false};
  if (!is_leaving.exchange(true)) virtual_gpu::leave();
  using Abort = void (*)();
  if (auto* real = reinterpret_cast<Abort>(dlsym(RTLD_NEXT, "abort"))) real();
  for (;;) syscall(SYS_exit_group, 134);
}
