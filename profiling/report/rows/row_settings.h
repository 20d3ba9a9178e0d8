// Settings that distinguish a table's rows. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/report/rows/environments.h"
#include "profiling/report/rows/select.h"
#include "text/table.h"

namespace headroom {

class RowSettings {
 public:
  // Columns for `varying`. `own` (JSON keys): settings that the table shows elsewhere.
  RowSettings(const RecordPointers& records, std::vector<const Field*> varying,
              std::vector<std::string> own);

  // For people: the varying settings and, if results of equal settings have different environments,
  // the differences. With the table's own columns, these are its keys.
  void add_columns(Table& table) const;
  void add_cells(std::vector<std::string>& row, const Record& record) const;

  // For programs, in the order of fields(): every other setting that changes a result, then the
  // device's name and the build. They distinguish rows of several files.
  void add_exact_columns(Table& table) const;
  void add_exact_cells(std::vector<std::string>& row, const Record& record) const;

  // Equal for Records that add_cells() does not distinguish.
  std::string group(const Record& record) const;
  // The environment's part of the group; "" if the table has no such column.
  std::string environment(const Record& record) const;

 private:
  std::vector<const Field*> varying_;
  std::vector<const Field*> exact_;  // other settings that change a result
  EnvironmentLabels environments_;
};

}  // namespace headroom
