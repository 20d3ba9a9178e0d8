#include "text/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "text/columns.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "text/wrap.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

// The most difficult possible file names.
Table hostile() {
  return {.title = "Peaks | of <script>alert(1)</script>",
          .notes = {"a note with a\nnew line"},
          .columns = {{"name"}, {"peak"}, {"peak_bytes", true, true}, {"median ms", true}},
          .rows = {{"=HYPERLINK(\"http://x\")", "5.000 MiB", "5242880", "1.5"},
                   {"say \"hi\", twice\nor more", "-5.000 MiB", "-5242880", kNotAvailable},
                   {"mod\xC3\xA8le | <script> \xE6\xBC\xA2", "oom", kNotAvailable, "2"},
                   {"-1+1|cmd", "bad \xFF byte \x1b[31m", "0", "3"}}};
}

// A reader of RFC 4180 written only for this test.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[i++];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == ',') {
      rows.back().emplace_back();
    } else if (!quoted && text[i] == '\n') {
      rows.push_back({""});
    } else {
      rows.back().back() += text[i];
    }
  }
  rows.pop_back();
  return rows;
}

TEST(Rows, AreGivenBackAsTheyWereAdded) {
  const std::vector<Cells> all = {{"a", "", std::string(200, 'x'), std::string("\0\x80", 2)},
                                  {},
                                  {std::string(70000, 'y')},
                                  {"last"}};
  Rows rows;
  for (const Cells& row : all) rows.push_back(row);
  rows.back().push_back("open");
  EXPECT_EQ(rows.size(), 4U);
  for (size_t i = 0; i + 1 < all.size(); ++i) EXPECT_EQ(rows[i], all[i]) << i;
  EXPECT_EQ(rows[3], (Cells{"last", "open"}));
  EXPECT_EQ(std::vector<Cells>(rows.begin(), rows.end()).size(), 4U);
}

TEST(Table, CsvGivesBackEveryCellAndRunsNoFormula) {
  const Table table = hostile();
  const auto rows = read_csv(to_string(table, TableFormat::kCsv));
  ASSERT_EQ(rows.size(), 5);
  EXPECT_EQ(rows[0][2], "peak_bytes");
  EXPECT_EQ(rows[1][0], "'=HYPERLINK(\"http://x\")");
  EXPECT_EQ(rows[2],
            (std::vector<std::string>{"say \"hi\", twice\nor more", "-5.000 MiB", "-5242880", ""}));
  EXPECT_EQ(rows[4][0], "'-1+1|cmd");
}

TEST(Table, CsvOfSeveralTablesIsOneLongTable) {
  const Table small{
      .title = "T", .columns = {{"key"}, {"a"}, {"b"}}, .rows = {{"x", "1", "2"}, {"y", "3", "4"}}};
  const auto rows = read_csv(to_string({small, hostile()}, TableFormat::kCsv));
  ASSERT_EQ(rows.size(), 1 + 2 * 2 + 4 * 3);
  for (const auto& row : rows) EXPECT_EQ(row.size(), 4);
  EXPECT_EQ(rows[2], (std::vector<std::string>{"T", "x", "b", "2"}));
}

TEST(Table, WhatACellDoesNotHaveIsEmptyInCsvAndSaidToPeople) {
  const Table table{.columns = {{"run"}, {.name = "setting", .when_empty = "none"}, {"ms", true}},
                    .rows = {{"a", "", kNotAvailable}}};
  EXPECT_EQ(to_string(table, TableFormat::kCsv), "run,setting,ms\na,,\n");
  EXPECT_THAT(to_string(table, TableFormat::kText), HasSubstr("a    none     n/a"));
  const auto json = nlohmann::json::parse(to_string(table, TableFormat::kJson));
  EXPECT_EQ(json["rows"][0]["setting"], "");
  EXPECT_TRUE(json["rows"][0]["ms"].is_null());
}

TEST(Table, CsvOfSeveralTablesNamesARowByAllThatTellsItApart) {
  const Table memory{.title = "M",
                     .columns = {{"memory"}, {"phase"}, {"held"}},
                     .rows = {{"host", "forward", "1"}, {"host", "backward", "2"}},
                     .keys = 2};
  const auto rows = read_csv(to_string({memory, memory}, TableFormat::kCsv));
  EXPECT_EQ(rows[1], (std::vector<std::string>{"M", "host / forward", "held", "1"}));
  EXPECT_EQ(rows[2], (std::vector<std::string>{"M", "host / backward", "held", "2"}));
}

TEST(Table, JsonIsStrictAndKeepsNumbersAsNumbers) {
  const auto json = nlohmann::json::parse(to_string(hostile(), TableFormat::kJson));
  EXPECT_EQ(json["rows"][0]["peak_bytes"], 5242880);
  EXPECT_EQ(json["rows"][0]["median ms"], 1.5);
  EXPECT_TRUE(json["rows"][1]["median ms"].is_null());
  EXPECT_EQ(json["rows"][1]["name"], "say \"hi\", twice\nor more");
  EXPECT_EQ(json["rows"][2]["peak"], "oom");
}

TEST(Table, TextIsAlignedByWhatATerminalShows) {
  const std::string text = to_string(hostile(), TableFormat::kText);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("peak_bytes")));
  std::vector<size_t> where;
  size_t begin = text.find('\n') + 1;  // after the title
  for (int line = 0; line < 6; ++line) {
    const std::string row = text.substr(begin, text.find('\n', begin) - begin);
    begin += row.size() + 1;
    if (line == 2) where.push_back(display_width(row.substr(0, row.find("5.000"))));
    if (line == 3) where.push_back(display_width(row.substr(0, row.find("-5.000"))));
    if (line == 4) where.push_back(display_width(row.substr(0, row.find("oom"))));
  }
  ASSERT_EQ(where.size(), 3);
  EXPECT_EQ(where[0], where[1]);
  EXPECT_EQ(where[0], where[2]);
  EXPECT_THAT(text, HasSubstr("a note with a\\nnew line\n"));
}

TEST(Table, MarkdownHasOneRowPerLineAndNoHtml) {
  const std::string text = to_string(hostile(), TableFormat::kMarkdown);
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  int table_lines = 0;
  size_t begin = 0;
  while (begin < text.size()) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    begin += line.size() + 1;
    if (line.empty() || line[0] != '|') continue;
    ++table_lines;
    int bars = 0;
    for (size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && line[i - (i > 0)] != '\\';
    EXPECT_EQ(bars, 4) << line;
  }
  EXPECT_EQ(table_lines, 6);
}

TEST(Table, AFormatItDoesNotKnowIsRefused) {
  EXPECT_EQ(parse_table_format("--format", "table"), TableFormat::kText);
  EXPECT_THROW(parse_table_format("--format", "xml"), UsageError);
}

// The widest line of a page, in terminal columns.
size_t widest_line(const std::string& page) {
  size_t widest = 0;
  for (size_t begin = 0; begin < page.size();) {
    const size_t end = page.find('\n', begin);
    widest = std::max(widest, display_width(page.substr(begin, end - begin)));
    begin = end + 1;
  }
  return widest;
}

Table wide() {
  Table table{
      .title = "A title of some words that is longer than a narrow page would be",
      .notes = {"a note of \xE6\xBC\xA2\xE5\xAD\x97 that goes on and on until it is too long"},
      .columns = {{"run"}, {"why"}}};
  Cells small = {"small", "because it was asked for, and for no other reason at all"};
  Cells large = {"large", "so that there are two rows"};
  for (int i = 0; i < 12; ++i) {
    table.columns.push_back({"figure " + std::to_string(i), true});
    for (Cells* row : {&small, &large}) row->push_back("1234." + std::to_string(i));
  }
  table.rows = {small, large};
  return table;
}

TEST(Page, NoLineIsWiderThanThePageAndNoFigureIsLost) {
  for (size_t width = kNarrowestPage; width < 200; ++width) {
    const std::string page = to_string(wide(), TableFormat::kText, width);
    EXPECT_LE(widest_line(page), width) << page;
    for (int i = 0; i < 12; ++i) {
      EXPECT_THAT(page, HasSubstr("1234." + std::to_string(i))) << width;
    }
  }
}

TEST(Page, AFoldedCommandIsOneCommandForAShell) {
  const std::string command =
      "headroom profile --model-size 2.7B --context-length 512 --batch-size 4 --profile-type "
      "training --precision fp32 --recompute full --device virtual:rtx4090 --record-steps 0";
  const Table table{.notes = {"this is " + command}, .columns = {{"command"}}, .rows = {{command}}};
  std::string page = to_string({table}, TableFormat::kText, 80);
  EXPECT_THAT(page, HasSubstr(" \\\n"));
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  for (size_t at; (at = page.find(" \\\n")) != std::string::npos;) {
    page.replace(at, page.find_first_not_of(' ', at + 3) - at, " ");
  }
  EXPECT_THAT(page, HasSubstr("\n" + command + "\n"));
  EXPECT_THAT(page, HasSubstr("this is " + command + "\n"));
}

TEST(Page, AFoldedTableSaysWhichRowEachPartIsOfAndHowToGetItWhole) {
  const std::string page = to_string(wide(), TableFormat::kText, 80);
  EXPECT_THAT(page, HasSubstr("Folded to 80 columns"));
  size_t headers = 0;
  for (size_t at = page.find("\nsmall "); at != std::string::npos;
       at = page.find("\nsmall ", at + 1)) {
    ++headers;
  }
  EXPECT_GE(headers, 2);
  EXPECT_THAT(to_string(wide(), TableFormat::kText), Not(HasSubstr("Folded")));
}

TEST(Page, WithoutAWidthATableIsAsWideAsItNeeds) {
  EXPECT_EQ(to_string(wide(), TableFormat::kText), to_string(wide(), TableFormat::kText, 1000));
}

TEST(Wrap, ACommandStaysOneCommandForAShell) {
  const std::string command = "command: vllm serve MODEL --max-model-len 8192 --enforce-eager";
  EXPECT_EQ(command_lines(command, 80), (std::vector<std::string>{command}));
  EXPECT_EQ(command_lines(command, 40, 4),
            (std::vector<std::string>{"command: vllm serve MODEL \\", "    --max-model-len 8192 \\",
                                      "    --enforce-eager"}));
  // A quoted text or a path must not be broken.
  const std::string quoted = "python train.py --name 'one two three four'";
  EXPECT_EQ(command_lines(quoted, 20), (std::vector<std::string>{quoted}));
  const std::string path = "python /a/long/path/of/a/program.py --batch 4";
  EXPECT_EQ(command_lines(path, 20), (std::vector<std::string>{path}));
}

TEST(Page, TextIsBrokenBetweenWordsAndAPathBehindASlash) {
  EXPECT_EQ(wrapped("one two three", 8), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 8, 2), (std::vector<std::string>{"one two", "  three"}));
  EXPECT_EQ(wrapped("results/memory/x", 10), (std::vector<std::string>{"results/", "memory/x"}));
  EXPECT_EQ(wrapped("anything at all", 0), (std::vector<std::string>{"anything at all"}));
  // Two columns each; three of them are six.
  EXPECT_EQ(wrapped("\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2", 5),
            (std::vector<std::string>{"\xE6\xBC\xA2\xE6\xBC\xA2", "\xE6\xBC\xA2"}));
}

TEST(Page, AListOfFlagsStaysOneAndProseIsFilledUp) {
  EXPECT_EQ(fitted("  --flag N  what it does for you\n", 24),
            "  --flag N  what it does\n            for you\n");
  EXPECT_EQ(fitted("one two three four\nfive six\n", 14), "one two three\nfour five six\n");
  // A paragraph is refilled, a list below it is not.
  const char* list = "  --flag N  what it really does\n            for you\n  --other   x\n";
  EXPECT_EQ(fitted(list, 40), list);
  EXPECT_EQ(fitted(list, 28),
            "  --flag N  what it really\n            does for you\n  --other   x\n");
}

TEST(Page, AShortenedLineLosesTheMiddleOfItsLongestWordAndThenItsEnd) {
  EXPECT_EQ(shortened("a_long_name_of_a_run: step 3 of 4", 40),
            "a_long_name_of_a_run: step 3 of 4");
  EXPECT_EQ(shortened("a_long_name_of_a_run: step 3 of 4", 28), "a_long..._a_run: step 3 of 4");
  EXPECT_EQ(shortened("a_long_name_of_a_run: step 3 of 4", 12), "a_long_name_");
  EXPECT_EQ(shortened("one two three", 5), "one t");
}

TEST(Rows, AreReadBackWhateverTheirNumberAndTheLengthOfTheirTexts) {
  const auto row_of = [](size_t i) {
    return Cells{std::to_string(i), std::string(i % 700, 'x'), "",
                 i == 1234 ? std::string(3 << 20, 'y') : "z"};
  };
  Rows rows;
  for (size_t i = 0; i < 10000; ++i) rows.push_back(row_of(i));  // some blocks of 1 MiB
  const Rows copy = rows;
  std::vector<std::string_view> cells;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Cells row = row_of(i);
    ASSERT_EQ(copy[i], row) << i;
    rows.look(i, cells);
    ASSERT_TRUE(std::equal(cells.begin(), cells.end(), row.begin(), row.end())) << i;
  }
}

TEST(Printable, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width("\033[31mred\033[0m"), 3);
  EXPECT_EQ(display_width("mod\xC3\xA8le"), 6);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);
  EXPECT_EQ(display_width("\xE6\xBC\xA2"), 2);
  EXPECT_EQ(printable("a\xC0\xAF\nb"), "a\xEF\xBF\xBD\xEF\xBF\xBD\\nb");
}

}  // namespace
}  // namespace headroom
