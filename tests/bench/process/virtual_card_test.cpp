#include "bench/process/virtual_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/process/child_process.h"
#include "bench/process/loader_path.h"
#include "text/quantity.h"

namespace headroom {
namespace {

TEST(VirtualCard, ACardIsWhatTheTableSays) {
  const VirtualCard chosen = virtual_card(parse_device("virtual:H200"));
  EXPECT_EQ(chosen.card.name, "h200");
  EXPECT_EQ(chosen.card.total_bytes, find_card("h200").total_bytes);
  EXPECT_EQ(chosen.real_bytes, chosen.card.total_bytes);
  EXPECT_FALSE(chosen.unlimited);
}

TEST(VirtualCard, BytesReplaceTheCardsOwn) {
  const VirtualCard smaller = virtual_card(parse_device("virtual:h200,bytes=80GiB"));
  EXPECT_EQ(smaller.card.total_bytes, int64_t{80} << 30);
  EXPECT_EQ(smaller.real_bytes, find_card("h200").total_bytes);
  const VirtualCard unlimited = virtual_card(parse_device("virtual:rtx4090,bytes=unlimited"));
  EXPECT_TRUE(unlimited.unlimited);
  EXPECT_GT(unlimited.card.total_bytes, int64_t{8} << 40) << "405B training needs 6 TiB";
}

TEST(VirtualCard, RefusesWhatItCannotBe) {
  for (const char* device :
       {"virtual:", "virtual:h2000", "virtual:v100", "virtual:h200,",
        "virtual:h200,bytes=", "virtual:h200,bytes=0", "virtual:h200,bytes=17TiB",
        "virtual:h200,bytes=1MiB", "virtual:h200,sms=3"}) {
    EXPECT_THROW(virtual_card(parse_device(device)), UsageError) << device;
  }
}

class StandIn : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("stand_in_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_ / "driver");
    std::ofstream(directory_ / "libvirtual_gpu.so");
    std::ofstream(directory_ / "driver" / "libcuda.so.1");
    std::ofstream(directory_ / "driver" / "libnccl.so.2");
    setenv("HEADROOM_VIRTUAL_GPU", directory_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("HEADROOM_VIRTUAL_GPU");
    unsetenv("LD_PRELOAD");
    std::filesystem::remove_all(directory_);
  }
  static std::string value_of(const std::vector<std::string>& environment,
                              const std::string& name) {
    for (const std::string& entry : environment) {
      if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
    }
    return "(not set)";
  }
  std::filesystem::path directory_;
};

TEST_F(StandIn, TheEnvironmentDescribesTheCard) {
  const auto environment = stand_in_environment(
      virtual_card(parse_device("virtual:h200,bytes=80GiB")), 2, "/tmp/report");
  EXPECT_EQ(value_of(environment, "HEADROOM_VIRTUAL_COUNT"), "2");
  EXPECT_EQ(value_of(environment, "HEADROOM_VIRTUAL_REPORT"), "/tmp/report");
  const std::string card = value_of(environment, "HEADROOM_VIRTUAL_CARD");
  EXPECT_NE(card.find("name=NVIDIA H200"), std::string::npos) << card;
  EXPECT_NE(card.find("total_bytes=85899345920"), std::string::npos) << card;
  EXPECT_EQ(value_of(environment, "LD_PRELOAD"),
            (directory_ / "libvirtual_gpu.so").string() + ":" +
                (directory_ / "driver" / "libcuda.so.1").string() + ":" +
                (directory_ / "driver" / "libnccl.so.2").string());
}

TEST_F(StandIn, WhatWasPreloadedComesAfter) {
  setenv("LD_PRELOAD", "/other.so", 1);
  const auto environment = stand_in_environment(virtual_card(parse_device("virtual:h200")), 1, "");
  EXPECT_TRUE(value_of(environment, "LD_PRELOAD").ends_with("libnccl.so.2:/other.so"));
  EXPECT_EQ(value_of(environment, "HEADROOM_VIRTUAL_REPORT"), "(not set)");
}

TEST_F(StandIn, OurOwnProgramsLoadNoRealCublasLt) {
  const VirtualCard card = virtual_card(parse_device("virtual:h200"));
  EXPECT_EQ(cell_stand_in_environment(card, 1), stand_in_environment(card, 1, ""))
      << "an older folder lacks it";
  std::ofstream(directory_ / "driver" / "libcublasLt.so");
  EXPECT_TRUE(value_of(cell_stand_in_environment(card, 1), "LD_PRELOAD")
                  .ends_with("libnccl.so.2:" + (directory_ / "driver/libcublasLt.so").string()));
}

TEST_F(StandIn, WhatTheShellSaysOfRealCardsIsTakenAway) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const auto set = stand_in_environment(virtual_card(parse_device("virtual:h200")), 1, "");
  EXPECT_THAT(set, testing::Contains("CUDA_VISIBLE_DEVICES"));
  EXPECT_EQ(value_of(changed_environment({}, set), "CUDA_VISIBLE_DEVICES"), "(not set)");
  EXPECT_EQ(value_of(changed_environment({}, {}), "CUDA_VISIBLE_DEVICES"), "");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

// The loader splits LD_PRELOAD at both, without quoting.
TEST_F(StandIn, AFolderWithASpaceOrAColonIsPreloadedThroughALink) {
  for (const char* name : {"a b", "a:b"}) {
    const std::filesystem::path folder = directory_ / name;
    std::filesystem::create_directories(folder / "driver");
    std::ofstream(folder / "libvirtual_gpu.so") << name;
    std::ofstream(folder / "driver" / "libcuda.so.1");
    std::ofstream(folder / "driver" / "libnccl.so.2");
    setenv("HEADROOM_VIRTUAL_GPU", folder.c_str(), 1);
    const std::vector<std::string> libraries = stand_in_libraries();
    EXPECT_EQ(libraries, stand_in_libraries()) << "one link for one folder";
    std::string text;
    std::getline(std::ifstream(libraries.at(0)), text);
    EXPECT_EQ(text, name);
    EXPECT_EQ(libraries[0].find_first_of(" :"), std::string::npos) << libraries[0];
    EXPECT_TRUE(std::filesystem::exists(libraries.at(1)));
  }
}

TEST_F(StandIn, TheLinkGoesWhenTheProcessEnds) {
  const std::filesystem::path folder = directory_ / "c d";
  std::filesystem::create_directories(folder);
  const auto leave = [&] {
    const std::string link = loader_path(folder);
    std::ofstream(directory_ / "link") << link;
    std::exit(std::filesystem::is_symlink(link) ? 0 : 1);
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(0), "");
  std::string link;
  std::getline(std::ifstream(directory_ / "link"), link);
  EXPECT_FALSE(link.empty());
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(link).parent_path())) << link;
}

TEST_F(StandIn, AMissingLibraryIsNamed) {
  std::filesystem::remove(directory_ / "driver" / "libnccl.so.2");
  EXPECT_THROW(stand_in_libraries(), std::runtime_error);
}

}  // namespace
}  // namespace headroom
