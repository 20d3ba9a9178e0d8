#include "plan/fit/answers/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "files/whole_file.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::SizeIs;

std::string committed(const std::string& name) {
  return read_whole_file(HEADROOM_SOURCES "/results/fit/" + name, int64_t{1} << 26);
}

TEST(FitDrawing, ASavedDocumentGivesTheCommittedPicture) {
  for (const std::string name : {"fit_2.7B", "fit_7b", "fit_7b_disk"}) {
    const ordered_json document = ordered_json::parse(committed(name + ".json"));
    ASSERT_TRUE(is_fit_document(document)) << name;
    EXPECT_EQ(fit_svg(document), committed(name + ".svg")) << name;
    EXPECT_THAT(fit_table(document).rows, SizeIs(document["answers"].size())) << name;
  }
}

TEST(FitDrawing, TitlesNameTheOpenSetting) {
  const ordered_json sets = {{"model_size", "7b"}, {"batch_size", 1}, {"context_length", 2048}};
  EXPECT_EQ(fit_title(sets, "rtx4090"),
            "Cheapest sets that fit: 7b on rtx4090, batch 1, context 2048");
  ordered_json batch = sets;
  batch["batch_size"] = nullptr;
  EXPECT_EQ(fit_title(batch, "rtx4090"), "Largest batch: 7b on rtx4090, context 2048");
  ordered_json context = sets;
  context["context_length"] = nullptr;
  EXPECT_EQ(fit_title(context, "rtx4090"), "Largest context: 7b on rtx4090, batch 1");
  batch["gpus"] = 8;
  batch["global_batch_size"] = 32;
  EXPECT_EQ(fit_title(batch, "h200"),
            "Cheapest sets that fit: 7b on 8 x h200, global batch 32, context 2048");
}

TEST(FitDrawing, OtherDocumentsAreNone) {
  EXPECT_FALSE(is_fit_document(ordered_json::parse("[1]")));
  EXPECT_FALSE(is_fit_document({{"answers", ordered_json::array()}}));
  ordered_json lacking = ordered_json::parse(committed("fit_7b.json"));
  lacking["card"].erase("total_bytes");
  EXPECT_THROW(fit_svg(lacking), ordered_json::exception);
}

}  // namespace
}  // namespace headroom
