#include "profiling/report/times/traffic.h"

#include "cards/cards.h"
#include "profiling/flops.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"

namespace headroom {
namespace {

std::string milliseconds(double seconds) { return number_text(1000 * seconds, 1); }

Table traffic_table(const HostTraffic& traffic, const DiskFigures& disk) {
  Table table{.title = "Moved by offload in a step", .columns = {{"way"}}};
  add_bytes_columns(table, "moved");
  const auto add = [&](const char* way, int64_t bytes) {
    table.rows.push_back({way});
    add_bytes_cells(table.rows.back(), bytes);
  };
  if (traffic.any()) {
    add("to host", traffic.to_host);
    add("to card", traffic.to_card);
  }
  if (disk.read + disk.written > 0) {
    add("from disk", disk.read);
    add("to disk", disk.written);
  }
  return table;
}

Table transfer_table(const RunSpec& spec, const LeastTimes& times, const DiskRate& rate) {
  Table table{.title = "Least time of the parts of a step",
              .columns = {{"part"}, {"at"}, {"ms", true}, {"of them alone, ms", true}}};
  const auto add = [&](const char* what, const std::string& at, const Transfers& transfers) {
    if (transfers.all_s() == 0) return;
    table.rows.push_back(
        {what, at, milliseconds(transfers.all_s()), milliseconds(transfers.alone_s)});
  };
  const Card& card = find_card(spec.device.card);
  add("copies over the host link",
      card.host_link + ", " + number_text(static_cast<double>(card.host_bandwidth) / 1e9, 1) +
          " GB/s one way",
      times.link);
  add("reads and writes of the disk", rate.in_words(), times.disk);
  const double peak = *peak_flops(card.driver_name, compute_precision(spec));
  table.rows.push_back({"useful arithmetic", number_text(peak / 1e12, 1) + " TFLOP/s",
                        milliseconds(times.arithmetic_s), kNotAvailable});
  table.notes = {
      "Alone: transfers after backward, when no arithmetic runs: weights that the host has "
      "updated, states and new weights on a disk."};
  return table;
}

Table step_table(const LeastTimes& times) {
  Table table{.title = "Least time of a step, with transfers and without",
              .notes = {"Lower bounds; the host's update and waiting come on top."},
              .columns = {{"arithmetic"}}};
  for (const char* name : {"ms", "without, ms", "times as long"}) {
    table.columns.push_back({name, true});
  }
  const auto add = [&](const std::string& arithmetic, double part) {
    table.rows.push_back({arithmetic, milliseconds(times.step_s(part)),
                          milliseconds(times.arithmetic_s / part),
                          number_text(times.ratio(part), 2)});
  };
  add("at its peak", 1);
  add("at " + number_text(100 * kUsualPartOfThePeak, 0) + "% of it", kUsualPartOfThePeak);
  return table;
}

}  // namespace

std::vector<Table> traffic_tables(const RunSpec& spec, const HostTraffic& traffic,
                                  const DiskFigures& disk, const DiskRate& disk_rate) {
  std::vector<Table> tables = {traffic_table(traffic, disk)};
  if (tables.front().rows.empty()) return {};
  if (const auto times = least_times(spec, traffic, disk, disk_rate)) {
    tables.push_back(transfer_table(spec, *times, disk_rate));
    tables.push_back(step_table(*times));
  }
  return tables;
}

std::vector<Table> traffic_tables(const Record& record, const DiskRate& disk_rate) {
  const auto moved = [&](const char* way) {
    const auto found = record.host_traffic.find(way);
    return found == record.host_traffic.end() ? 0 : found->second;
  };
  return traffic_tables(record.spec, {.to_host = moved("to_host"), .to_card = moved("to_card")},
                        {.read = moved("from_disk"), .written = moved("to_disk")}, disk_rate);
}

}  // namespace headroom
