// The Records that a table shows, and the settings that distinguish them. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/record/record.h"
#include "text/table.h"

namespace headroom {

using RecordPointers = std::vector<const Record*>;

// The last Record of each configuration, in order of first appearance. `notes` gets the omissions,
// and whether the Records are of different devices or builds. Equal settings under other conditions
// (profiling/report/rows/places.h) are another configuration; another build is not.
RecordPointers latest_of_each(const std::vector<Record>& records, std::vector<std::string>& notes);

// The settings that change a result and differ between Records. `shown` (JSON keys) are left out:
// the table has its own place for them.
std::vector<const Field*> varying_fields(const RecordPointers& records,
                                         const std::vector<std::string>& shown);

// The values of `fields`, joined: equal for Records that have the same.
std::string group_key(const Record& record, const std::vector<const Field*>& fields);

// Adds the notes under a table of `shown`: the settings that all rows share, the unit, the failed
// runs, and `about`, the notes of latest_of_each().
void add_closing_notes(Table& table, const RecordPointers& shown,
                       const std::vector<std::string>& about);

}  // namespace headroom
