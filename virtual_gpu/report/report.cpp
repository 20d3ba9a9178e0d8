#include "virtual_gpu/report/report.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/nccl/memory/own_memory.h"
#include "virtual_gpu/report/ending_signal.h"
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

void add_stack(std::ostream& out, const char* key, const CallStack& stack) {
  out << ",\"" << key << "\":[";
  const char* comma = "";
  for (const Frame& frame : named(stack)) {
    out << comma << "{\"library\":" << quoted(frame.library) << ",\"name\":" << quoted(frame.name);
    add(out, "offset", frame.offset);
    out << "}";
    comma = ",";
  }
  out << "]";
}

void add_host_reads(std::ostream& out) {
  out << ",\"host_reads\":[";
  const char* comma = "";
  for (const HostReadPlace& place : host_read_places()) {
    out << comma << "{\"count\":" << place.reads;
    add(out, "bytes", place.bytes);
    add_stack(out, "stack", place.stack);
    out << "}";
    comma = ",";
  }
  out << "]";
}

// From the program's launcher.
void add_rank(std::ostream& out) {
  for (const auto& [variable, key] : {std::pair{"RANK", "rank"}, {"WORLD_SIZE", "world_size"}}) {
    const char* text = std::getenv(variable);
    const std::string digits = text == nullptr ? "" : text;
    const bool is_number =
        !digits.empty() && digits.size() < 10 &&
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number) add(out, key, static_cast<uint64_t>(std::stoul(digits)));
  }
}

void add_communicator(std::ostream& out, const ncclComm& comm) {
  out << "{\"name\":" << quoted(comm.name);
  add(out, "size", static_cast<uint64_t>(comm.size));
  add(out, "rank", static_cast<uint64_t>(comm.rank));
  add(out, "device", static_cast<uint64_t>(comm.device));
  add(out, "own_bytes", comm.own->bytes());
  out << ",\"collectives\":[";
  const char* comma = "";
  for (size_t kind = 0; kind < kTrafficKinds; ++kind) {
    const TrafficCount& count = comm.traffic[kind];
    if (count.calls == 0) continue;
    out << comma << "{\"kind\":" << quoted(name_of(static_cast<Traffic>(kind)));
    add(out, "calls", count.calls);
    add(out, "bytes", count.bytes);
    out << "}";
    comma = ",";
  }
  out << "]}";
}

void add_communicators(std::ostream& out) {
  out << ",\"communicators\":[";
  const char* comma = "";
  for (const ncclComm* comm : communicators()) {
    out << comma;
    add_communicator(out, *comm);
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
  add(out, "peak_nccl_bytes", peak_nccl_bytes(device.ordinal()));
  add(out, "launches", counters.launches);
  add(out, "graph_launches", counters.graph_launches);
  add(out, "matrix_products", counters.matrix_products);
  add(out, "matrix_product_flops", counters.matrix_product_flops);
  add(out, "allocations", counters.allocations);
  add(out, "frees", counters.frees);
  add(out, "refused_allocations", counters.refused_allocations);
  add(out, "largest_refused_bytes", device.refused_bytes());
  add_stack(out, "refused_at", device.refused_at());
  add(out, "bytes_to_device", counters.bytes_to_device);
  add(out, "bytes_to_host", counters.bytes_to_host);
  add(out, "copies_to_host", counters.copies_to_host);
  add(out, "synchronizations", counters.synchronizations);
  out << "}";
}

}  // namespace

std::string report() {
  Machine& machine = Machine::get();
  std::ostringstream out;
  out << "{\"pid\":" << getpid() << ",\"command\":" << quoted(command_line());
  add(out, "ended_by_signal", static_cast<uint64_t>(ending_signal()));
  add(out, "small_host_reads", small_host_reads());
  add_host_reads(out);
  add(out, "peak_pinned_bytes", machine.host.peak_pinned_bytes());
  add_list(out, "not_supported", refused_names());
  add_list(out, "assumed", assumptions());
  add_rank(out);
  add_communicators(out);
  out << ",\"devices\":[";
  for (int i = 0; i < machine.count(); ++i) {
    if (i > 0) out << ",";
    add_device(out, machine.device(i));
  }
  out << "]}\n";
  return out.str();
}

}  // namespace virtual_gpu
