// The tables and lines of bench/dryrun/report/report.h.
#include <algorithm>
#include <optional>
#include <vector>

#include "bench/dryrun/ranks.h"
#include "bench/dryrun/report/events.h"
#include "bench/dryrun/report/host_reads.h"
#include "bench/dryrun/report/report.h"
#include "bench/process/child_process.h"
#include "profiling/report/rows/cells.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "text/table.h"
#include "text/words.h"
#include "text/wrap.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

std::string ending(const ordered_json& document) {
  const int signal = document["signal"];
  return signal != 0 ? "ended by signal " + signal_name(signal)
                     : "exit code " + std::to_string(document["exit_code"].get<int>());
}

Table table_of(const ordered_json& document) {
  Table table{.title = "Peaks on " + document["card"].get<std::string>()};
  if (has_ranks(document)) table.columns.push_back({"rank", true});
  table.columns.insert(table.columns.end(), {{"process", true}, {"device", true}});
  table.keys = table.columns.size();
  for (const char* name : {"peak allocated", "peak reserved"}) add_bytes_columns(table, name);
  if (has_nccl(document)) add_bytes_columns(table, "NCCL, assumed");
  add_bytes_columns(table, "left on the card");
  for (const char* name : {"launches", "matrix products", "TFLOP in them"}) {
    table.columns.push_back({name, true});
  }
  return table;
}

// The results of two runs, as one figure if they are equal.
void add_range_cells(std::vector<std::string>& row, std::optional<int64_t> one,
                     std::optional<int64_t> other) {
  if (!one || !other || *one == *other) return add_bytes_cells(row, one);
  const auto [least, most] = std::minmax(*one, *other);
  row.push_back(format_bytes(least) + " to " + format_bytes(most));
  row.push_back(std::to_string(least) + " to " + std::to_string(most));
}

// late: the same device in the second run; null if there was none.
std::vector<std::string> row_of(const ordered_json& document, const ordered_json& process,
                                const ordered_json& device, const ordered_json* late) {
  const DevicePeaks peaks = peaks_of(document, device);
  const DevicePeaks others = late == nullptr ? peaks : peaks_of(document["late"], *late);
  std::vector<std::string> row;
  if (has_ranks(document)) row.push_back(rank_cell(process));
  row.push_back(std::to_string(process["pid"].get<int64_t>()));
  row.push_back(std::to_string(device["ordinal"].get<int64_t>()));
  add_range_cells(row, peaks.allocated, others.allocated);
  add_range_cells(row, peaks.reserved, others.reserved);
  if (has_nccl(document)) add_bytes_cells(row, device.value("peak_nccl_bytes", int64_t{0}));
  add_range_cells(row, peaks.room, others.room);
  if (!device.contains("launches")) {
    row.insert(row.end(), 3, kNotAvailable);
    return row;
  }
  row.push_back(grouped(device["launches"].get<int64_t>()));
  row.push_back(grouped(device["matrix_products"].get<int64_t>()));
  row.push_back(number_text(device["matrix_product_flops"].get<double>() / 1e12, 3));
  return row;
}

std::string process_prefix(const ordered_json& document, const ordered_json& process) {
  if (process.contains("rank")) return rank_name(process) + ": ";
  if (document["processes"].size() == 1) return "";
  return "process " + std::to_string(process["pid"].get<int64_t>()) + ": ";
}

void add_out_of_memory(std::string& text, const std::string& who, const ordered_json& process,
                       const ordered_json& device) {
  const ordered_json& places = device["out_of_memory"];
  if (places.empty()) return;
  const ordered_json& last = places.back();
  const std::string where = last.value("where", "");
  const int64_t wanted = last.value("wanted_bytes", int64_t{0});
  text += who + "out of memory on device " + std::to_string(device["ordinal"].get<int64_t>());
  if (wanted > 0) text += ": " + format_bytes(wanted) + " wanted";
  if (!where.empty()) text += " at " + where;
  if (places.size() > 1) text += "; " + std::to_string(places.size()) + " times, this is the last";
  text += "\n";
  const std::string message = process["uncaught"];
  if (!message.empty()) text += "  " + message + "\n";
}

// Restrictions of the numbers.
void add_remarks(std::string& text, const std::string& who, const ordered_json& process,
                 bool has_failed) {
  if (const int signal = process["ended_by_signal"]; signal != 0) {
    text += who + "signal " + signal_name(signal) + " ended it: the peaks are those until then\n";
  }
  text += host_reads_text(who, process["host_reads"], has_failed);
  if (!process["devices"].front().contains("peak_bytes")) {
    text += who + "it was killed before the virtual GPU could report: only the figures of " +
            "libtorch's allocator are known\n";
    return;
  }
  if (!process["statistics_readable"].get<bool>()) {
    const std::string version = process["torch"];
    text += who + "allocator statistics: not readable for this libtorch (" +
            (version.empty() ? "before 2.9" : version) + ")\n";
  } else if (process["devices"].front()["allocator"].is_null()) {
    text += who + "allocator statistics: none, it does not allocate through libtorch or did not " +
            "end by itself; peak reserved is all the memory that it took\n";
  }
  if (const int64_t skipped = process["skipped_host_init_bytes"]; skipped > 0) {
    text += who + "not drawn on the host: " + format_bytes(skipped) + " of initial values\n";
  }
  for (const ordered_json& lacked : process["lacks"]) {
    text += who + "not with this torch: " + lacked.get<std::string>() + "\n";
  }
  if (!process["not_supported"].empty()) {
    text += who + "not covered by the virtual GPU: " +
            join(process["not_supported"].get<std::vector<std::string>>()) + "\n";
  }
}

// Processes that used CUDA but have no row, and answers that were never read.
std::string what_is_missing(const ordered_json& document) {
  std::string text;
  for (const ordered_json& kind : document["kinds"]) {
    if (kind["count"] == 1) continue;
    text += rank_name(kind) + " stands for " + grouped(kind["count"].get<int64_t>()) +
            " ranks: " + kind["ranks"].get<std::string>() + "\n";
  }
  if (const int64_t size = document["world_size"]; size > 1) {
    text += "of " + std::to_string(size) + " ranks " +
            (document["ranks"].size() == 1 ? "one ran, alone" : "each of these ran alone") +
            ": the absent ranks echoed its messages, so values of other ranks equal its own here\n";
  }
  if (const int64_t kills = document["host_kills"]; kills > 0) {
    text += "this host ran out of memory meanwhile: the kernel killed " + grouped(kills) +
            (kills == 1 ? " process" : " processes") +
            "; ranks of one --rank list run one after the other\n";
  }
  for (const ordered_json& process : document["unreported"]) {
    if (process.contains("rank")) text += rank_name(process) + ": ";
    text += "process " + std::to_string(process["pid"].get<int64_t>()) + " used CUDA and " +
            (process["is_running"].get<bool>() ? "is still running: it is not in this report\n"
                                               : "left no report: it was killed\n");
  }
  for (const ordered_json& value : document["values"]) {
    if (value["reads"].get<int64_t>() > 0) continue;
    text += "--value '" + printable(value["text"].get<std::string>()) +
            "' was never read: no Python line of that name read a value of the card\n";
  }
  if (const std::string route = document["route"]; !route.empty()) {
    const int64_t selections = document["selections"];
    text += selections > 0 ? "experts by --route " + route + ": " + grouped(selections) +
                                 " calls of torch.topk were answered\n"
                           : "--route " + route + " was never used: no Python process selected " +
                                 "experts by torch.topk\n";
  }
  return text;
}

std::string head_of(const ordered_json& document) {
  // Always one line: an argument of python -c is a whole program.
  const std::string program =
      printable(join(document["program"].get<std::vector<std::string>>(), " "));
  std::string text = "headroom dryrun: " + program + ": ";
  const auto add_ending = [&text](const ordered_json& run) {
    text += ending(run) + " after " + number_text(run["seconds"].get<double>(), 1) + " s";
  };
  add_ending(document);
  if (!document.contains("late")) return text;
  text += "; with late events ";
  add_ending(document["late"]);
  return text;
}

}  // namespace

std::string dryrun_text(const ordered_json& document, size_t width) {
  const std::string head = head_of(document);
  if (document["processes"].empty()) {
    const bool is_none = document["unreported"].empty();
    return fitted(head + (is_none ? "; no process reported any use of CUDA\n" : "\n") +
                      what_is_missing(document),
                  width);
  }
  Table table = table_of(document);
  std::string remarks = events_line(document);
  remarks += fullest_rank_line(document.contains("late") ? document["late"] : document);
  for (size_t i = 0; i < document["processes"].size(); ++i) {
    const ordered_json& process = document["processes"][i];
    const std::string who = process_prefix(document, process);
    for (const ordered_json& device : process["devices"]) {
      const ordered_json* late = late_device(document, i, device);
      table.rows.push_back(row_of(document, process, device, late));
      add_out_of_memory(remarks, who, process, device);
      if (late == nullptr) continue;
      add_out_of_memory(remarks, "with late events, " + who, document["late"]["processes"][i],
                        *late);
    }
    remarks += collectives_line(who, process);
    add_remarks(remarks, who, process, document["signal"] != 0 || document["exit_code"] != 0);
  }
  return fitted(head + "\n\n", width) + to_string(table, TableFormat::kText, width) +
         fitted(remarks + what_is_missing(document), width);
}

}  // namespace headroom
