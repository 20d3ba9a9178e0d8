#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/dryrun/report/breakdown.h"

namespace headroom {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using testing::HasSubstr;

json row(const char* category, const char* owner, int64_t bytes) {
  return {
      {"category", category},  {"phase", "outside"}, {"owner", owner}, {"operation", "aten::to"},
      {"place", "train.py:3"}, {"reason", ""},       {"bytes", bytes}, {"blocks", 1}};
}

ordered_json breakdown_of(const json& rows, int64_t allocated) {
  const json peak = {{"allocated_bytes", allocated}, {"reserved_bytes", 4096}, {"rows", rows}};
  const json device = {{"ordinal", 0}, {"peak_step", 1}, {"peak", peak}, {"steps", json::array()}};
  DryRunOutcome outcome;
  const json report = {{"pid", 7},
                       {"breakdown", {{"reason", ""}, {"devices", json::array({device})}}}};
  outcome.reports = {{.stand_in = "", .allocator = report.dump()}};
  const ordered_json document = {
      {"program", json::array({"python"})}, {"card", "h200"}, {"processes", {{{"pid", 7}}}}};
  return breakdown_document(document, outcome);
}

TEST(BreakdownReport, NumbersOfLayersAndOfRootsAreFolded) {
  EXPECT_EQ(folded("GPT.layers.3.mlp"), "GPT.layers.*.mlp");
  EXPECT_EQ(folded("GPT#2.layers.3 (DTensor)"), "GPT#*.layers.* (DTensor)");
  EXPECT_EQ(folded("AdamW#3 (optimizer)"), "AdamW#* (optimizer)");
  EXPECT_EQ(folded("Linear2.norm1"), "Linear2.norm1");
}

TEST(BreakdownReport, FoldedModulesHaveTheirCountAndSum) {
  const ordered_json breakdown = breakdown_of(
      {row("parameters", "GPT.layers.0.mlp", 100), row("parameters", "GPT.layers.1.mlp", 100),
       row("gradients", "GPT.head", 50), row("allocator rounding", "", 6)},
      256);
  const ordered_json& device = breakdown["processes"][0]["devices"][0];
  const ordered_json& first = device["modules"][0];
  EXPECT_EQ(first["module"], "GPT.layers.*.mlp");
  EXPECT_EQ(first["count"], 2);
  EXPECT_EQ(first["bytes"], 200);
  EXPECT_EQ(device["categories"]["allocator rounding"], 6);
  EXPECT_EQ(device["cached_bytes"], 4096 - 256);
  EXPECT_EQ(device["lines"].size(), 1U);
}

TEST(BreakdownReport, TheFirstOfSeveralRootsIsFoldedWithTheOthers) {
  const ordered_json breakdown =
      breakdown_of({row("parameters", "Layer.mlp", 1), row("parameters", "Layer#2.mlp", 1)}, 2);
  const ordered_json& modules = breakdown["processes"][0]["devices"][0]["modules"];
  ASSERT_EQ(modules.size(), 1U);
  EXPECT_EQ(modules[0]["module"], "Layer#*.mlp");
  EXPECT_EQ(modules[0]["count"], 2);
}

TEST(BreakdownReport, AProcessWithoutTheHookSaysSo) {
  const ordered_json document = {
      {"program", json::array({"a"})}, {"card", "h200"}, {"processes", {{{"pid", 7}}}}};
  const ordered_json breakdown = breakdown_document(document, {});
  EXPECT_THAT(breakdown_text(breakdown), HasSubstr("no breakdown: no Python"));
}

}  // namespace
}  // namespace headroom
