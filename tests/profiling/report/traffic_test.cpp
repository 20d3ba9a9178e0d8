#include "profiling/report/traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kGib = int64_t{1} << 30;

std::vector<std::string> ways(const Table& table) {
  std::vector<std::string> words;
  for (const auto& row : table.rows) words.push_back(row.front());
  return words;
}

TEST(TrafficTables, WhatTheDiskMovedIsNotCountedAsWhatTheLinkDid) {
  Record record;
  record.host_traffic = {{"to_host", 2 * kGib},
                         {"to_card", 3 * kGib},
                         {"from_disk", 50 * kGib},
                         {"to_disk", 60 * kGib}};
  const std::vector<Table> tables = traffic_tables(record);
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].title, "Over the host link, in one recorded step");
  EXPECT_THAT(ways(tables[0]), ElementsAre("to card", "to host"));
  EXPECT_THAT(tables[0].notes.front(), HasSubstr("2.000 GiB to the host, 3.000 GiB back"));
  EXPECT_EQ(tables[1].title, "To and from the disk, in one recorded step");
  EXPECT_THAT(ways(tables[1]), ElementsAre("from disk", "to disk"));
}

TEST(TrafficTables, AreOnlyOfWhatMoved) {
  EXPECT_THAT(traffic_tables(Record()), IsEmpty());
  Record record;
  record.host_traffic = {{"to_host", kGib}};
  ASSERT_EQ(traffic_tables(record).size(), 1U);
  EXPECT_THAT(ways(traffic_tables(record).front()), ElementsAre("to host"));
}

}  // namespace
}  // namespace headroom
