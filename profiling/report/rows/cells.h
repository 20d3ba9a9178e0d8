// The texts that the report tables put in their cells. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiling/record.h"
#include "text/quantity.h"
#include "text/table.h"

namespace headroom {

inline constexpr const char* kUnitsNote = "1 GiB = 1024 MiB = 1024^3 bytes.";

// Two columns for one quantity: "peak allocated" for people, "peak_allocated_bytes" for programs.
void add_bytes_columns(Table& table, const std::string& name);

// Their two cells. `otherwise` (a status word) stands where there is no number.
void add_bytes_cells(std::vector<std::string>& row, std::optional<int64_t> bytes,
                     const std::string& otherwise = kNotAvailable);

std::string signed_bytes(int64_t bytes);           // "+1.000 GiB", "-512 B", "0 B"
std::string percent(int64_t part, int64_t whole);  // "12.3 %", n/a of nothing
std::string signed_percent(int64_t change, int64_t from);
std::string grouped(int64_t value);             // "128,625,408"
std::string readable(const std::string& name);  // "optimizer_state" as "optimizer state"

// A text of the Record's environment; "" where it has none of that name.
std::string environment_text(const Record& record, const char* name);

// The card or processor as its driver or /proc/cpuinfo has it; "" in Records of other programs.
std::string hardware_name(const Record& record);

// The device a Record was measured on: what its environment says, else the --device asked for.
std::string device_name(const Record& record);

// Nothing for a run that failed: a peak before the failure is not the run's peak.
inline std::optional<int64_t> peak_allocated(const Record& record) {
  if (record.status != Status::kOk || !record.peak) return std::nullopt;
  return record.peak->allocated;
}

// The setting of a field as a table has it: a dimension that was not given is the named size's, and
// a size with a changed dimension is custom.
std::string setting_text(const Record& record, const Field& field);

// What stands in a number's place: the status of a failed run, n/a for a run without that number.
std::string status_or_not_available(const Record& record);

}  // namespace headroom
