#include "bench/sweep/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/sweep/sweep.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<RunSpec> five_cells() {
  return expand(RunSpec{}, {{"context_length", {"16", "32", "64", "128", "256"}}});
}

// The Records written by a sweep of the shard.
std::vector<Record> records_of_shard(const std::string& shard) {
  const ShardCells cells = cells_of(parse_shard("--shard", shard), five_cells());
  std::vector<Record> records;
  for (size_t i = 0; i < cells.specs.size(); ++i) {
    Record record{.spec = cells.specs[i]};
    record.environment["cell"]["shard"] = cells.marks[i];
    record.environment["key"] = row_name(record.spec);
    records.push_back(std::move(record));
  }
  return records;
}

TEST(Shards, TogetherAreTheGridAndEachCellIsInOne) {
  std::multiset<int64_t> contexts;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    for (const Record& record : records_of_shard(shard))
      contexts.insert(record.spec.context_length);
  }
  EXPECT_THAT(contexts, ElementsAre(16, 32, 64, 128, 256));
  EXPECT_THAT(records_of_shard("6/9"), IsEmpty());
}

TEST(Shards, WhatIsNoShardIsRefused) {
  for (const char* text : {"3", "0/3", "4/3", "1/0", "a/b", "", "1/3/3"}) {
    EXPECT_THROW(parse_shard("--shard", text), UsageError) << text;
  }
}

TEST(Shards, AWholeGridHasNoGaps) {
  EXPECT_THAT(gaps_in({records_of_shard("1/2"), records_of_shard("2/2")}, {"a.jsonl", "b.jsonl"}),
              IsEmpty());
}

TEST(Shards, MissingCellsAreNamedWithTheirShard) {
  const auto lines = gaps_in({records_of_shard("1/3"), records_of_shard("3/3")}, {"a", "c"});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr("no Record of cell 2 of 5, "));
  EXPECT_THAT(lines[0], HasSubstr("ctx32"));
  EXPECT_THAT(lines[0], HasSubstr("(--shard 2/3)"));
  EXPECT_THAT(lines[1], HasSubstr("cell 5 of 5"));
}

TEST(Shards, ACellInTwoFilesIsNamedWithBoth) {
  const auto lines = gaps_in(
      {records_of_shard("1/2"), records_of_shard("2/2"), records_of_shard("2/2")}, {"a", "b", "c"});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr(" is in b and again in c"));
}

}  // namespace
}  // namespace headroom
