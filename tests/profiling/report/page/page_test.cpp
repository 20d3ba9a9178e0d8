#include "profiling/report/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "profiling/report/page/deflated.h"
#include "profiling/report/page/records_html.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

// Names that would end an element, begin a script or break a string.
const std::string kHostile = "</script><script>alert(1)</script>\"'&\n\x01\xff";

SnapshotFile hostile_file() {
  SnapshotFile file;
  Snapshot& snapshot = file.snapshot;
  snapshot.frames = {{kHostile, kHostile, 7}};
  snapshot.stacks = {{0}};
  snapshot.labels = {kHostile};
  snapshot.annotations = {{.name = kHostile}};
  snapshot.settings.alloc_conf = kHostile;
  snapshot.device_traces = {{{.address = 512, .size = 100, .stack = 0, .label = 0}}};
  snapshot.segments = {{.address = 512,
                        .total_size = 1024,
                        .blocks = {{.address = 512, .size = 1024, .requested_size = 100}}}};
  return file;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Page, AHostileNameAddsNoElement) {
  ReportPage page{.title = kHostile};
  const std::string plain = to_html(ReportPage{.title = "plain"});
  page.snapshots.push_back(snapshot_view(kHostile, hostile_file()));
  Table table{.title = kHostile, .columns = {{kHostile}}, .rows = {{kHostile}}};
  page.tables = to_html(table);
  const std::string html = to_html(page);
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  // The names of the file, and one history.
  EXPECT_EQ(count_of(html, "<script"), count_of(plain, "<script") + 2);
  EXPECT_EQ(count_of(html, "</script"), count_of(plain, "</script") + 2);
}

TEST(Page, NamesReachThePageWhole) {
  const SnapshotView view = snapshot_view("run.pickle", hostile_file());
  const auto json = nlohmann::json::parse(view.json);
  EXPECT_THAT(json["labels"][0].get<std::string>(),
              HasSubstr("</script><script>alert(1)</script>\"'&\n\x01"));
  EXPECT_EQ(json["devices"][0]["peak_bytes"], 100);
}

TEST(Page, LoadsNothing) {
  const std::string html = to_html(ReportPage{.title = "plain"});
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_FALSE(std::regex_search(html, std::regex(R"(<(link|img|iframe|object|embed)\b)")));
  EXPECT_THAT(html, Not(HasSubstr("<script src")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
  EXPECT_THAT(html, Not(HasSubstr("url(http")));
}

TEST(Page, HoldsTheLicenceOfItsChartLibrary) {
  EXPECT_THAT(to_html(ReportPage{.title = "plain"}),
              HasSubstr("Permission is hereby granted, free of charge"));
}

TEST(Page, DataIsInflatedByZlib) {
  const std::string text(100000, 'x');
  const std::string packed = deflated(text);
  EXPECT_LT(packed.size(), 1000U);
  std::string out(text.size(), '\0');
  uLongf size = out.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  EXPECT_EQ(out, text);
}

TEST(Page, Base64IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xfb\xff"), "+/8=");
}

TEST(Page, AnExactNumberIsTheValueOfTheColumnBeforeIt) {
  const Table table{.title = "peaks",
                    .columns = {{"run"}, {"peak", true}, {"peak_bytes", true, true}},
                    .rows = {{"a", "1.000 GiB", "1073741824"}, {"b", "oom", "n/a"}}};
  const std::string html = to_html(table);
  EXPECT_THAT(html, HasSubstr("data-value=\"1073741824\">1.000 GiB</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"number\">oom</td>"));
}

}  // namespace
}  // namespace headroom
