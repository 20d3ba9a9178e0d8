// The texts in the cells of report tables. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiling/record/record.h"
#include "text/quantity.h"
#include "text/table.h"

namespace headroom {

inline constexpr const char* kUnitsNote = "1 GiB = 1024 MiB = 1024^3 bytes.";

// Two columns for one quantity: "peak allocated" for people, "peak_allocated_bytes" for programs.
void add_bytes_columns(Table& table, const std::string& name);

// Their two cells. `otherwise` (a status word) replaces a missing number.
void add_bytes_cells(std::vector<std::string>& row, std::optional<int64_t> bytes,
                     const std::string& otherwise = kNotAvailable);

std::string bytes_in_full(int64_t bytes);          // "1.000 GiB (1073741824 bytes)"
std::string signed_bytes(int64_t bytes);           // "+1.000 GiB", "-512 B", "0 B"
std::string percent(int64_t part, int64_t whole);  // "12.3 %"; n/a of 0
std::string signed_percent(int64_t change, int64_t from);
std::string grouped(int64_t value);             // "128,625,408"
std::string readable(const std::string& name);  // "optimizer_state" as "optimizer state"

// A text of the Record's environment; "" if there is none of that name.
std::string environment_text(const Record& record, const char* name);

// The card or processor, named by its driver or /proc/cpuinfo; "" in Records of other programs.
std::string hardware_name(const Record& record);

// The device of a Record: --device for a virtual card; else the environment's, if it has one.
std::string device_name(const Record& record);

// Empty for a failed run: a peak before the failure is not the run's peak.
inline std::optional<int64_t> peak_allocated(const Record& record) {
  if (record.status != Status::kOk || !record.peak) return std::nullopt;
  return record.peak->allocated;
}

// A field's setting as a table shows it: a dimension that was not given is the named size's, and a
// size with a changed dimension is custom.
std::string setting_text(const Record& record, const Field& field);

// The text for a missing number: the status of a failed run, n/a for a run without that number.
std::string status_or_not_available(const Record& record);

}  // namespace headroom
