#include "cards/cards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cards/card_json.h"
#include "cards/cards_file.h"
#include "cards/cublas_workspace.h"
#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double kKilo = 1000;
constexpr double kTera = 1e12;
constexpr double kGibi = 1024.0 * 1024 * 1024;

const std::vector<Card>& builtin() {
  static const std::vector<Card> kCards = read_cards("");
  return kCards;
}

const Card& builtin(const std::string& name) {
  for (const Card& card : builtin()) {
    if (card.name == name) return card;
  }
  throw std::runtime_error("no card " + name);
}

TEST(Cards, EveryCardThatIsPromisedIsThere) {
  const std::map<std::string, std::string> driver_names = {
      {"t4", "Tesla T4"},
      {"v100", "Tesla V100-SXM2-32GB"},
      {"rtx3090", "NVIDIA GeForce RTX 3090"},
      {"rtx4090", "NVIDIA GeForce RTX 4090"},
      {"rtx5090", "NVIDIA GeForce RTX 5090"},
      {"rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
      {"l4", "NVIDIA L4"},
      {"l40s", "NVIDIA L40S"},
      {"a10g", "NVIDIA A10G"},
      {"a100-40gb", "NVIDIA A100-SXM4-40GB"},
      {"a100-80gb", "NVIDIA A100-SXM4-80GB"},
      {"a800-80gb", "NVIDIA A800-SXM4-80GB"},
      {"h100-80gb", "NVIDIA H100 80GB HBM3"},
      {"h100-pcie", "NVIDIA H100 PCIe"},
      {"h200", "NVIDIA H200"},
      {"h20", "NVIDIA H20"},
      {"b200", "NVIDIA B200"},
  };
  for (const auto& [name, driver_name] : driver_names) {
    EXPECT_EQ(builtin(name).driver_name, driver_name);
  }
  std::set<std::string> names;
  for (const Card& card : builtin()) {
    EXPECT_TRUE(names.insert(card.name).second) << card.name << " twice";
    EXPECT_TRUE(names.insert(card.driver_name).second) << card.driver_name << " twice";
  }
}

// The driver reports a little less than the advertised capacity.
TEST(Cards, MemoryIsWhatTheDriverReports) {
  const std::map<std::string, std::pair<double, double>> gib = {
      {"t4", {14.5, 14.8}},        {"rtx4090", {23.4, 23.7}},   {"rtx5090", {31.3, 31.5}},
      {"a100-40gb", {39.3, 39.6}}, {"a100-80gb", {79.1, 79.4}}, {"a800-80gb", {79.1, 79.4}},
      {"h100-80gb", {79.1, 79.3}}, {"h200", {139.7, 139.9}},    {"b200", {178.3, 178.4}},
  };
  for (const auto& [name, range] : gib) {
    EXPECT_GT(static_cast<double>(builtin(name).total_bytes) / kGibi, range.first) << name;
    EXPECT_LT(static_cast<double>(builtin(name).total_bytes) / kGibi, range.second) << name;
  }
}

TEST(Cards, BandwidthIsBusTimesClockTwice) {
  for (const Card& card : builtin()) {
    const double bytes_per_second = static_cast<double>(card.memory_bus_bits) / 8 * 2 *
                                    static_cast<double>(card.memory_clock_khz) * kKilo;
    EXPECT_NEAR(static_cast<double>(card.memory_bandwidth) / bytes_per_second, 1, 0.035)
        << card.name;
  }
}

// Lanes, GT/s per lane, and 128 data bits of 130.
TEST(Cards, TheLinkToTheHostIsAtItsPeakInOneDirection) {
  constexpr int64_t kGiga = 1000000000;
  const auto pcie = [](int64_t gigatransfers) {
    return std::llround(16.0 * static_cast<double>(gigatransfers * kGiga) * 128 / 130 / 8);
  };
  const std::map<std::string, int64_t> bandwidths = {{"PCIe 3.0 x16", pcie(8)},
                                                     {"PCIe 4.0 x16", pcie(16)},
                                                     {"PCIe 5.0 x16", pcie(32)},
                                                     {"NVLink-C2C", 450 * kGiga}};
  for (const Card& card : builtin()) {
    ASSERT_EQ(bandwidths.count(card.host_link), 1U) << card.name << " " << card.host_link;
    EXPECT_EQ(card.host_bandwidth, bandwidths.at(card.host_link)) << card.name;
  }
  EXPECT_EQ(builtin("t4").host_link, "PCIe 3.0 x16");
  EXPECT_EQ(builtin("a100-80gb").host_link, "PCIe 4.0 x16");
  EXPECT_EQ(builtin("h200").host_bandwidth, 63015384615);
  EXPECT_EQ(builtin("gh200-96gb").host_link, "NVLink-C2C");
}

TEST(Cards, Fp32IsLanesTimesClockTwice) {
  for (const Card& card : builtin()) {
    const double flops = static_cast<double>(card.multiprocessors) *
                         static_cast<double>(card.limits.fp32_lanes_per_multiprocessor) * 2 *
                         static_cast<double>(card.clock_khz) * kKilo;
    ASSERT_TRUE(card.peak_tflops.fp32) << card.name;
    EXPECT_NEAR(*card.peak_tflops.fp32 * kTera / flops, 1, 0.02) << card.name;
  }
}

// FP16 operations of a multiprocessor per clock, without sparsity. GeForce cards accumulate in FP32
// at half that rate.
TEST(Cards, NoRateIsOneWithSparsity) {
  const std::map<std::string, double> dense = {{"7.0", 1024},  {"7.5", 1024}, {"8.0", 2048},
                                               {"8.6", 1024},  {"8.9", 1024}, {"9.0", 4096},
                                               {"10.0", 8192}, {"12.0", 1024}};
  for (const Card& card : builtin()) {
    const bool is_geforce = card.driver_name.find("GeForce") != std::string::npos;
    const double most = dense.at(card.compute_capability) / (is_geforce ? 2 : 1) *
                        static_cast<double>(card.multiprocessors) *
                        static_cast<double>(card.clock_khz) * kKilo;
    EXPECT_LT(card.peak_tflops.fp16.value() * kTera, 1.02 * most) << card.name;
  }
}

TEST(Cards, MatrixRatesStandInTheRatioOfTheirWidths) {
  for (const Card& card : builtin()) {
    const PeakRates& peak = card.peak_tflops;
    ASSERT_TRUE(peak.fp16) << card.name;
    EXPECT_NEAR(peak.bf16.value_or(*peak.fp16), *peak.fp16, 1e-9) << card.name;
    EXPECT_NEAR(peak.tf32.value_or(*peak.fp16 / 2), *peak.fp16 / 2, 0.03 * *peak.fp16) << card.name;
    EXPECT_NEAR(peak.fp8.value_or(*peak.fp16 * 2), *peak.fp16 * 2, 0.05 * *peak.fp16) << card.name;
    EXPECT_GE(peak.int8.value_or(*peak.fp16 * 2), *peak.fp16 * 1.99) << card.name;
    const double capability = std::stod(card.compute_capability);
    EXPECT_EQ(peak.fp8.has_value(), capability >= 8.9) << card.name;
    EXPECT_EQ(peak.tf32.has_value(), capability >= 8.0) << card.name;
    EXPECT_EQ(peak.bf16.has_value(), capability >= 8.0) << card.name;
  }
}

TEST(Cards, LimitsAreThoseOfTheComputeCapability) {
  EXPECT_EQ(builtin("rtx4090").limits.blocks_per_multiprocessor, 24);
  EXPECT_EQ(builtin("rtx3090").limits.blocks_per_multiprocessor, 16);
  EXPECT_EQ(builtin("h200").limits.shared_memory_per_block_optin, 232448);
  for (const Card& card : builtin()) {
    const MultiprocessorLimits& limits = card.limits;
    EXPECT_EQ(limits.shared_memory_per_block, 49152) << card.name;
    EXPECT_EQ(limits.shared_memory_per_block_optin + limits.reserved_shared_memory_per_block,
              limits.shared_memory_per_multiprocessor)
        << card.name;
    EXPECT_EQ(limits.threads_per_multiprocessor % 512, 0) << card.name;
  }
}

TEST(Cards, ContextsAreMeasuredOrFollowOneRule) {
  int measured = 0;
  for (const Card& card : builtin()) {
    const int64_t rule = 2048 * card.multiprocessors * card.limits.threads_per_multiprocessor;
    if (card.context_measured) {
      ++measured;
      // The rule must stay near the measured values.
      EXPECT_NEAR(static_cast<double>(card.context_bytes), static_cast<double>(rule),
                  0.05 * static_cast<double>(rule))
          << card.name;
    } else {
      EXPECT_EQ(card.context_bytes, rule) << card.name;
    }
  }
  EXPECT_GE(measured, 3);
}

TEST(Cards, EveryFigureHasASource) {
  for (const Card& card : builtin()) {
    for (const char* key : {"properties", "total_bytes", "memory_bandwidth", "host_bandwidth",
                            "peak_tflops", "context"}) {
      ASSERT_EQ(card.sources.count(key), 1U) << card.name << " " << key;
      EXPECT_GT(card.sources.at(key).size(), 10U) << card.name << " " << key;
    }
    EXPECT_THAT(card.limits.source, HasSubstr("CUDA")) << card.name;
    // A name in `assumed` must be a field.
    const auto json = to_json(card);
    for (const std::string& field : card.assumed) {
      std::string pointer = "/" + field;
      std::replace(pointer.begin(), pointer.end(), '.', '/');
      EXPECT_TRUE(json.contains(nlohmann::ordered_json::json_pointer(pointer)))
          << card.name << " " << field;
    }
  }
}

TEST(Cards, LibtorchRefusesOnlyVolta) {
  for (const Card& card : builtin()) {
    EXPECT_EQ(card.refused.empty(), card.compute_capability != "7.0") << card.name;
  }
  EXPECT_THAT(builtin("v100").refused, HasSubstr("no sm_70 code"));
}

TEST(Cards, TheStandInReadsBackWhatTheCardIs) {
  for (const Card& card : builtin()) {
    const std::string text = stand_in_description(card);
    EXPECT_EQ(std::count(text.begin(), text.end(), ';') + 1,
              std::count(text.begin(), text.end(), '='));
    std::istringstream words(text);
    std::map<std::string, std::string> read;
    for (std::string word; std::getline(words, word, ';');) {
      const size_t equals = word.find('=');
      read[word.substr(0, equals)] = word.substr(equals + 1);
    }
    const auto number = [](int64_t value) { return std::to_string(value); };
    const MultiprocessorLimits& limits = card.limits;
    const std::map<std::string, std::string> expected = {
        {"name", card.driver_name},
        {"compute_capability", card.compute_capability},
        {"multiprocessors", number(card.multiprocessors)},
        {"total_bytes", number(card.total_bytes)},
        {"context_bytes", number(card.context_bytes)},
        {"threads_per_multiprocessor", number(limits.threads_per_multiprocessor)},
        {"blocks_per_multiprocessor", number(limits.blocks_per_multiprocessor)},
        {"shared_memory_per_block", number(limits.shared_memory_per_block)},
        {"shared_memory_per_block_optin", number(limits.shared_memory_per_block_optin)},
        {"shared_memory_per_multiprocessor", number(limits.shared_memory_per_multiprocessor)},
        {"reserved_shared_memory_per_block", number(limits.reserved_shared_memory_per_block)},
        {"registers_per_multiprocessor", number(limits.registers_per_multiprocessor)},
        {"l2_bytes", number(card.l2_bytes)},
        {"memory_bus_bits", number(card.memory_bus_bits)},
        {"memory_clock_khz", number(card.memory_clock_khz)},
        {"clock_khz", number(card.clock_khz)},
        {"nvlink_channels", number(card.nvlink_channels)},
    };
    EXPECT_EQ(read, expected) << card.name;
  }
  EXPECT_THAT(stand_in_description(builtin("h200")),
              testing::StartsWith("name=NVIDIA H200;compute_capability=9.0;multiprocessors=132;"));
}

TEST(Cards, TheStandInFillsGapsExactlyOnAHostWithAnOlderLinux) {
  const auto description = [](const std::string& linux_version) {
    Card card = builtin("t4");
    card.host_linux = linux_version;
    return stand_in_description(card);
  };
  const auto exactly = HasSubstr(";fills_gaps_exactly=1");
  for (const char* older : {"3.10", "5.15", "6.6"}) EXPECT_THAT(description(older), exactly);
  for (const char* newer : {"", "6.7", "6.18", "7.0"})
    EXPECT_THAT(description(newer), Not(exactly));
}

TEST(Cards, NamesAreFoundInAnyCase) {
  EXPECT_EQ(find_card("H200").driver_name, "NVIDIA H200");
  EXPECT_EQ(find_card("A100-80GB").name, "a100-80gb");
  ASSERT_NE(find_card_of_driver("NVIDIA H200"), nullptr);
  EXPECT_EQ(find_card_of_driver("NVIDIA H200")->name, "h200");
  EXPECT_EQ(find_card_of_driver("NVIDIA H200 NVL"), nullptr);
}

TEST(Cards, AnUnknownNameIsAnsweredWithNearOnes) {
  const auto message = [](const char* name) {
    return message_of<UsageError>([&] { find_card(name); });
  };
  EXPECT_THAT(message("h2000"), HasSubstr("card: 'h2000' is unknown; did you mean h200?"));
  EXPECT_THAT(message("A800"), HasSubstr("did you mean a800-80gb?"));
  EXPECT_THAT(message("gtx1080"), AllOf(HasSubstr("known: t4, v100, "), Not(HasSubstr("did you"))));
  EXPECT_THAT(message(""), HasSubstr("known: "));
}

// Other cards: two chunks of 4096 KiB and eight of 16 KiB.
TEST(Cards, GiveCublasAWorkspaceByTheirCapability) {
  EXPECT_EQ(cublas_workspace_bytes(find_card("h200").compute_capability), 32 << 20);
  for (const char* name : {"v100", "a100-80gb", "rtx4090", "b200"}) {
    EXPECT_EQ(cublas_workspace_bytes(find_card(name).compute_capability), (8 << 20) + (128 << 10))
        << name;
  }
}

}  // namespace
}  // namespace headroom
