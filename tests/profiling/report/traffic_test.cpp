#include "profiling/report/times/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cards/cards.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kTrafficGib = int64_t{1} << 30;

Record moving_both() {
  Record record;
  record.host_traffic = {{"to_host", kTrafficGib},
                         {"to_card", 2 * kTrafficGib},
                         {"from_disk", 3 * kTrafficGib},
                         {"to_disk", 4 * kTrafficGib}};
  return record;
}

std::vector<std::string> column(const Table& table, size_t index) {
  std::vector<std::string> words;
  for (const auto& row : table.rows) words.push_back(row[index]);
  return words;
}

TEST(TrafficTables, WhatTheDiskMovedIsNotCountedAsWhatTheLinkDid) {
  const std::vector<Table> tables = traffic_tables(moving_both());
  ASSERT_EQ(tables.size(), 1U) << "a processor's rates are not known";
  EXPECT_THAT(column(tables[0], 0), ElementsAre("to host", "to card", "from disk", "to disk"));
  EXPECT_THAT(column(tables[0], 1),
              ElementsAre("1.000 GiB", "2.000 GiB", "3.000 GiB", "4.000 GiB"));
}

TEST(TrafficTables, ForACardEachTransferHasItsLeastTime) {
  Record record = moving_both();
  record.spec.profile_type = Mode::kTraining;
  record.spec.device = parse_device("virtual:rtx4090");
  record.spec.optimizer_offload = {.space = MemorySpace::kDisk, .directory = "."};
  const std::vector<Table> tables = traffic_tables(record, {.bytes_per_second = 7.0 * kTrafficGib});
  ASSERT_EQ(tables.size(), 3U);
  const double link_s =
      3.0 * kTrafficGib / static_cast<double>(find_card("rtx4090").host_bandwidth);
  const std::vector<std::string> ms = column(tables[1], 2);
  ASSERT_EQ(ms.size(), 3U);
  EXPECT_EQ(ms[0], number_text(1000 * link_s, 1));
  EXPECT_EQ(ms[1], "1000.0") << "seven GiB of the disk";
  EXPECT_EQ(tables[2].rows.size(), 2U) << "at the arithmetic's peak, and at a part of it";
}

TEST(TrafficTables, AreOnlyOfWhatMoved) {
  EXPECT_THAT(traffic_tables(Record()), IsEmpty());
  Record record;
  record.host_traffic = {{"to_host", kTrafficGib}, {"to_card", 0}};
  ASSERT_EQ(traffic_tables(record).size(), 1U);
  EXPECT_THAT(column(traffic_tables(record).front(), 0), ElementsAre("to host", "to card"));
}

}  // namespace
}  // namespace headroom
