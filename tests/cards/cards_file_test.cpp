#include "cards/cards_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cards/card_json.h"
#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CardsFile : public testing::Test {
 protected:
  std::vector<Card> read(const std::string& text) const {
    return read_cards(scratch_.write("cards.json", text));
  }
  std::string refusal(const std::string& text) const {
    return message_of<UsageError>([&] { read(text); });
  }
  // The same with one field of a whole new card replaced.
  std::string refusal_of(const std::string& field, const nlohmann::json& value) const {
    nlohmann::json card = new_card();
    card[field] = value;
    return refusal(nlohmann::json{{"cards", {card}}}.dump());
  }
  static nlohmann::json new_card() {
    return {{"name", "mine"},
            {"driver_name", "NVIDIA Mine"},
            {"compute_capability", "8.0"},
            {"multiprocessors", 10},
            {"total_bytes", 1000000000},
            {"memory_bus_bits", 256},
            {"memory_clock_khz", 1000000},
            {"clock_khz", 1500000},
            {"l2_bytes", 4194304},
            {"memory_bandwidth", 64000000000},
            {"peak_tflops", {{"fp32", 1.92}}}};
  }
  static const Card& card_of(const std::vector<Card>& cards, const std::string& name) {
    for (const Card& card : cards) {
      if (card.name == name) return card;
    }
    throw std::runtime_error("no card " + name);
  }
  std::string path() const { return scratch_.file("cards.json"); }

  ScratchDirectory scratch_;
};

TEST_F(CardsFile, ANewCardNeedsNoSourcesAndNoContext) {
  const auto cards = read(nlohmann::json{{"cards", {new_card()}}}.dump());
  EXPECT_EQ(cards.size(), read_cards("").size() + 1);
  const Card& card = card_of(cards, "mine");
  EXPECT_EQ(card.limits.threads_per_multiprocessor, 2048);
  EXPECT_EQ(card.context_bytes, 2048 * 10 * 2048);
  EXPECT_FALSE(card.context_measured);
  EXPECT_EQ(card.peak_tflops.fp32, 1.92);
  EXPECT_FALSE(card.peak_tflops.fp8);
  EXPECT_EQ(card.sources.at("total_bytes"), path());
}

TEST_F(CardsFile, ANewCardWithoutALinkToTheHostHasTheUsualOneAndSaysSo) {
  const Card card = card_of(read(nlohmann::json{{"cards", {new_card()}}}.dump()), "mine");
  EXPECT_EQ(card.host_link, "PCIe 4.0 x16");
  EXPECT_EQ(card.host_bandwidth, card_of(read_cards(""), "a100-80gb").host_bandwidth);
  EXPECT_EQ(card.assumed, std::vector<std::string>{"host_bandwidth"});
  EXPECT_EQ(card.sources.at("host_bandwidth"), "PCIe 4.0 x16 for want of any in " + path());
  // Other assumed figures stay assumed, and the file's own source is kept.
  nlohmann::json noted = new_card();
  noted["assumed"] = {"clock_khz"};
  noted["sources"] = {{"host_bandwidth", "a guess"}};
  const Card other = card_of(read(nlohmann::json{{"cards", {noted}}}.dump()), "mine");
  EXPECT_EQ(other.assumed, (std::vector<std::string>{"clock_khz", "host_bandwidth"}));
  EXPECT_EQ(other.sources.at("host_bandwidth"), "a guess");
  // Assumed figures are printed, and read back unchanged.
  const nlohmann::json printed = to_json(card);
  EXPECT_EQ(to_json(card_of(read(nlohmann::json{{"cards", {printed}}}.dump()), "mine")),
            to_json(card));
}

TEST_F(CardsFile, ALinkToTheHostIsTakenAsItIsGiven) {
  nlohmann::json given = new_card();
  given["host_link"] = "PCIe 3.0 x8";
  given["host_bandwidth"] = 7876923077;
  const Card card = card_of(read(nlohmann::json{{"cards", {given}}}.dump()), "mine");
  EXPECT_EQ(card.host_link, "PCIe 3.0 x8");
  EXPECT_EQ(card.host_bandwidth, 7876923077);
  EXPECT_TRUE(card.assumed.empty());
  EXPECT_EQ(card.sources.at("host_bandwidth"), path());
  // A known card in a slower slot, and one whose bandwidth was measured.
  const auto cards = read(R"({"cards": [
    {"name": "b200", "host_link": "PCIe 4.0 x16", "host_bandwidth": 31507692308},
    {"name": "h200", "host_bandwidth": 55000000000}]})");
  const Card& slower = card_of(cards, "b200");
  EXPECT_EQ(slower.host_link, "PCIe 4.0 x16");
  EXPECT_EQ(slower.host_bandwidth, 31507692308);
  EXPECT_THAT(card_of(read_cards(""), "b200").assumed, testing::Contains("host_bandwidth"));
  EXPECT_THAT(slower.assumed, Not(testing::Contains("host_bandwidth")));
  EXPECT_THAT(slower.sources.at("host_bandwidth"),
              EndsWith("host_bandwidth: " + path() + "; host_link: " + path()));
  EXPECT_EQ(card_of(cards, "h200").host_link, "PCIe 5.0 x16");
  EXPECT_EQ(card_of(cards, "h200").host_bandwidth, 55000000000);
}

TEST_F(CardsFile, ABadLinkToTheHostIsRefused) {
  const std::string where = "HEADROOM_CARDS: " + path() + ": card ";
  const std::string allowed = "; allowed: a whole number, 1 to 1000000000000000";
  const auto bandwidth = [&](const nlohmann::json& value) {
    nlohmann::json card = new_card();
    card["host_link"] = "PCIe 4.0 x16";
    card["host_bandwidth"] = value;
    return refusal(nlohmann::json{{"cards", {card}}}.dump());
  };
  for (const char* bad : {"0", "-31507692308", "31507692308.5", "\"32 GB/s\"", "[1]"}) {
    EXPECT_EQ(bandwidth(nlohmann::json::parse(bad)),
              where + "'mine': host_bandwidth is " + bad + allowed);
  }
  EXPECT_EQ(bandwidth(nullptr), where + "'mine': host_bandwidth is missing" + allowed);
  EXPECT_EQ(refusal_of("host_bandwidth", 31507692308),
            where +
                "'mine': host_link is missing; allowed: 1 to 255 characters such as "
                "\"PCIe 4.0 x16\"");
  EXPECT_THAT(refusal_of("host_link", 4), HasSubstr("'mine': host_link is 4; allowed: 1 to 255"));
  EXPECT_THAT(refusal_of("host_link", ""), HasSubstr("'mine': host_link is \"\";"));
  EXPECT_THAT(refusal_of("host_link", "a\nb"), AllOf(HasSubstr("a\\nb"), Not(HasSubstr("\n"))));
  // Another link has another bandwidth: the old one is not kept.
  EXPECT_EQ(refusal(R"({"cards": [{"name": "h200", "host_link": "PCIe 4.0 x16"}]})"),
            where + "'h200': host_bandwidth is missing" + allowed);
  EXPECT_THAT(refusal(R"({"cards": [{"name": "h200", "host_bandwidth": -1}]})"),
              HasSubstr("'h200': host_bandwidth is -1;"));
  // A value that is not a list is refused as before, with or without a link.
  EXPECT_THAT(refusal_of("assumed", "host_bandwidth"), HasSubstr("a list of field names"));
}

TEST_F(CardsFile, AKnownCardKeepsWhatIsNotGiven) {
  const auto before = read_cards("");
  const auto cards = read(R"({"cards": [
    {"name": "A10G", "total_bytes": 20000000000, "clock_khz": 1700000,
     "peak_tflops": {"fp16": 71, "int8": null}, "context": {"bytes": 1048576, "kind": "measured"}}]})");
  ASSERT_EQ(cards.size(), before.size());
  const Card& was = card_of(before, "a10g");
  const Card& card = card_of(cards, "a10g");
  EXPECT_EQ(card.total_bytes, 20000000000);
  EXPECT_EQ(card.clock_khz, 1700000);
  EXPECT_EQ(card.multiprocessors, was.multiprocessors);
  EXPECT_EQ(card.peak_tflops.fp16, 71);
  EXPECT_EQ(card.peak_tflops.fp32, was.peak_tflops.fp32);
  EXPECT_FALSE(card.peak_tflops.int8);
  EXPECT_EQ(card.context_bytes, 1048576);
  EXPECT_TRUE(card.context_measured);
  // The changed figures name the file; the rest keep their source.
  EXPECT_THAT(card.sources.at("total_bytes"),
              AllOf(StartsWith(was.sources.at("total_bytes")), EndsWith("total_bytes: " + path())));
  EXPECT_THAT(card.sources.at("properties"), EndsWith("clock_khz: " + path()));
  EXPECT_EQ(card.sources.at("memory_bandwidth"), was.sources.at("memory_bandwidth"));
  EXPECT_EQ(card.sources.at("context"), path());
  EXPECT_THAT(was.assumed, testing::IsSupersetOf({"clock_khz", "peak_tflops.fp16"}));
  EXPECT_THAT(card.assumed, Not(testing::Contains("clock_khz")));
  EXPECT_THAT(card.assumed, Not(testing::Contains("peak_tflops.fp16")));
  EXPECT_THAT(card.assumed, testing::Contains("peak_tflops.fp32"));
}

TEST_F(CardsFile, TheLinuxOfACardsHostIsAVersion) {
  const auto cards = read(R"({"cards": [{"name": "t4", "host_linux": "5.15"}]})");
  EXPECT_EQ(card_of(cards, "t4").host_linux, "5.15");
  EXPECT_EQ(to_json(card_of(cards, "t4")).at("host_linux"), "5.15");
  EXPECT_THAT(card_of(cards, "h200").host_linux, testing::IsEmpty());
  for (const char* wrong : {"5", "5.", ".15", "5.15-generic", ""}) {
    EXPECT_THAT(refusal_of("host_linux", wrong), HasSubstr("a text such as \"5.15\"")) << wrong;
  }
}

TEST_F(CardsFile, ASourceThatIsGivenIsTheSource) {
  const auto cards = read(R"({"cards": [{"name": "h200", "total_bytes": 150000000000,
    "sources": {"total_bytes": "my own reading"}}]})");
  EXPECT_EQ(card_of(cards, "h200").sources.at("total_bytes"), "my own reading");
}

TEST_F(CardsFile, ComputeCapabilitiesAndTheContextRuleCanBeChanged) {
  nlohmann::json limits = to_json(card_of(read_cards(""), "h200").limits);
  limits["threads_per_multiprocessor"] = 1024;
  limits.erase("source");
  nlohmann::json card = new_card();
  card["compute_capability"] = "11.7";
  const auto cards = read(nlohmann::json{
      {"context_rule", {{"bytes_per_thread", 1000}}},
      {"compute_capabilities", {{"11.7", limits}}},
      {"cards", {card}}}.dump());
  EXPECT_EQ(card_of(cards, "mine").context_bytes, 1000 * 10 * 1024);
  EXPECT_EQ(card_of(cards, "mine").limits.source, path());
  EXPECT_THAT(card_of(cards, "mine").sources.at("context"), EndsWith("changed by " + path()));
}

// The printed text can be edited and read back.
TEST_F(CardsFile, WhatIsWrittenReadsTheSame) {
  const auto before = read_cards("");
  nlohmann::ordered_json document;
  for (const Card& card : before) {
    document["compute_capabilities"][card.compute_capability] = to_json(card.limits);
    document["cards"].push_back(to_json(card));
  }
  const auto after = read(document.dump());
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(to_json(after[i]), to_json(before[i]));
}

TEST_F(CardsFile, ABadFileIsOneLineWithItsName) {
  const std::string where = "HEADROOM_CARDS: " + path() + ": ";
  EXPECT_EQ(refusal("{"), where + "is not JSON at byte 2");
  EXPECT_EQ(refusal("[]"), where + "is no object; allowed: {\"cards\": [...]}");
  EXPECT_EQ(refusal(R"({"crads": []})"), where + "'crads' is no field; did you mean cards?");
  EXPECT_EQ(refusal(R"({"cards": {}})"), where + "cards is no list; allowed: [{...}, ...]");
  EXPECT_EQ(refusal(R"({"cards": [7]})"),
            where + "cards[0]: is no object; allowed: {\"name\": ...}");
  EXPECT_EQ(refusal(R"({"cards": [{"name": "h200"}, {}]})"),
            where + "cards[1]: has no name; allowed: \"name\": \"h200\"");
  EXPECT_EQ(refusal(R"({"cards": [{"name": "h200"}, {"name": "H200"}]})"),
            where + "card 'H200' is there twice");
  EXPECT_EQ(refusal(R"({"compute_capabilities": {"9.0": 1}})"),
            where + "compute_capabilities 9.0 is no object");
  EXPECT_THAT(message_of<UsageError>([&] { read_cards(scratch_.file("missing.json")); }),
              EndsWith("missing.json: cannot be read: No such file or directory"));
  EXPECT_THAT(message_of<UsageError>([&] { read_cards(scratch_.file("")); }),
              EndsWith("cannot be read: Is a directory"));
  EXPECT_THAT(refusal(""), HasSubstr("is not JSON at byte 1"));
}

TEST_F(CardsFile, ABadFieldIsNamedWithItsCard) {
  const std::string where = "HEADROOM_CARDS: " + path() + ": card 'mine': ";
  EXPECT_EQ(refusal_of("total_bytes", 8e10),
            where + "total_bytes is 80000000000.0; allowed: a whole number, 1 to 70368744177664");
  EXPECT_THAT(refusal_of("total_bytes", "80GB"), StartsWith(where + "total_bytes is \"80GB\";"));
  EXPECT_THAT(refusal_of("total_bytes", 18446744073709551615U), HasSubstr("1 to 70368744177664"));
  EXPECT_THAT(refusal_of("multiprocessors", 0), StartsWith(where + "multiprocessors is 0;"));
  EXPECT_THAT(refusal_of("l2_bytes", nullptr), StartsWith(where + "l2_bytes is missing;"));
  EXPECT_THAT(refusal_of("total_byte", 1),
              EndsWith("'total_byte' is no field; did you mean total_bytes?"));
  EXPECT_THAT(refusal_of("driver_name", "a;b=c"), StartsWith(where + "driver_name is \"a;b=c\";"));
  EXPECT_THAT(refusal_of("driver_name", "a\nb"), AllOf(HasSubstr("a\\nb"), Not(HasSubstr("\n"))));
  EXPECT_THAT(refusal_of("driver_name", ""), HasSubstr("1 to 255 characters"));
  EXPECT_THAT(
      refusal_of("compute_capability", "9.1"),
      HasSubstr("'9.1' has no entry in compute_capabilities; known: 10.0, 10.3, 12.0, 7.0"));
  EXPECT_THAT(refusal_of("compute_capability", "hopper"),
              EndsWith("is \"hopper\"; allowed: a text such as \"9.0\""));
  EXPECT_THAT(refusal_of("compute_capability", 9.0), HasSubstr("is 9.0; allowed: a text"));
  EXPECT_THAT(refusal_of("peak_tflops", 5), StartsWith(where + "peak_tflops is 5;"));
  EXPECT_EQ(refusal_of("peak_tflops", {{"bf16", -1}}),
            where + "peak_tflops.bf16 is -1; allowed: a number above 0, or null");
  EXPECT_THAT(refusal_of("peak_tflops", {{"fp4", 1}}), HasSubstr("'fp4' is no field"));
  EXPECT_THAT(refusal_of("context", {{"bytes", 1}, {"kind", "guessed"}}),
              HasSubstr("context: kind is \"guessed\"; allowed: \"measured\" or \"assumed\""));
  EXPECT_THAT(refusal_of("context", {{"bytes", 1000000000}, {"kind", "assumed"}}),
              HasSubstr("leaves nothing of total_bytes 1000000000"));
  EXPECT_THAT(refusal_of("assumed", "clock_khz"), HasSubstr("a list of field names"));
  EXPECT_THAT(refusal_of("sources", {{"properties", 1}}), HasSubstr("sources: properties is 1"));
}

}  // namespace
}  // namespace headroom
