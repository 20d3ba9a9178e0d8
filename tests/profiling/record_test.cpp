#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <type_traits>

#include "profiling/record/record_fields.h"
#include "profiling/record/record_reader.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

Record example() {
  Record record;
  record.spec.context_length = 128;
  record.status = Status::kOk;
  record.peak = MemoryBytes{300, 400, 200};
  record.phases["forward"] = {100, 400, 90};
  record.phase_order = {"forward"};
  record.categories_at_peak = {{"parameters", 200}, {"other", 100}};
  record.phase_runs = {{"forward", 3}};
  record.residual_bytes_per_block = 7;
  record.out_of_memory = std::make_shared<const OutOfMemory>(
      OutOfMemory{.during = "warm-up step 1",
                  .phase = "backward",
                  .memory = "device",
                  .refusal = Refusal{5, {300, 400, 200}, 4, 404}});
  record.residual_blocks = {{0, 9, 2}, {1, 7, 1}};
  record.space = MemorySpace::kHost;
  record.spaces["host_pinned"] = {.peak = {64, 128, 64},
                                  .phases = {{"forward", {64, 128, 64}}},
                                  .categories_at_peak = {{"other", 64}}};
  record.ranks = {{0,
                   Status::kOk,
                   "",
                   "0,2-7",
                   {1, 2, 3},
                   5,
                   {{"dp all_reduce", 4}},
                   {{"dp send", 6}},
                   {{"backward", {{"gradients", 8}}}},
                   7,
                   {{"dp all_reduce", 2}}},
                  {1, Status::kKilled, "gone"}};
  record.step_ms = {1.5, std::nan("")};
  return record;
}

TEST(Record, SurvivesJson) {
  const Record record = example();
  const Record read = record_from_line(to_json_line(record));
  EXPECT_EQ(to_json_line(read), to_json_line(record));
  EXPECT_EQ(read.peak->reserved, 400);
  EXPECT_EQ(read.spaces.at("host_pinned").phases.at("forward").reserved, 128);
  EXPECT_EQ(read.residual_blocks.at(1).tensors, 1);
  EXPECT_EQ(read.out_of_memory->refusal->live.requested, 200);
  EXPECT_EQ(read.ranks.at(0).moved.at("dp all_reduce"), 4);
  EXPECT_EQ(read.ranks.at(0).predicted_moved.at("dp send"), 6);
  EXPECT_EQ(read.ranks.at(0).phase_ends.at("backward").at("gradients"), 8);
  EXPECT_EQ(read.ranks.at(0).nccl_bytes, 7);
  EXPECT_EQ(read.ranks.at(0).moved_calls.at("dp all_reduce"), 2);
  EXPECT_EQ(read.ranks.at(0).alike, "0,2-7");
  EXPECT_EQ(read.ranks.at(0).predicted_bytes, 5);
  EXPECT_EQ(read.ranks.at(1).status, Status::kKilled);
  EXPECT_TRUE(std::isnan(read.step_ms[1]));
}

TEST(Record, IsOneLineOfStrictJsonWhateverTheTexts) {
  Record record = example();
  record.reason = "bad \xff byte, \"quotes\"\nand a new line";
  const std::string line = to_json_line(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find("NaN"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(line));
}

TEST(Record, ReadersIgnoreUnknownFieldsAndRefuseOtherThings) {
  nlohmann::json json = to_json(example());
  json["from_the_future"] = 1;
  EXPECT_NO_THROW(record_from_line(json.dump()));
  json["schema_version"] = Record::kSchemaVersion + 1;
  EXPECT_THROW(record_from_line(json.dump()), std::invalid_argument);
  for (const char* bad : {"[]", "7", "{", "", "{\"schema_version\": 2}"}) {
    EXPECT_THROW(record_from_line(bad), std::invalid_argument) << bad;
  }
}

TEST(Record, AValueOfTheWrongKindIsRefusedWithItsKey) {
  const auto refused = [](const char* key, const nlohmann::json& value) {
    nlohmann::json json = to_json(example());
    json[key] = value;
    return message_of<std::invalid_argument>([&] { record_from_line(json.dump()); });
  };
  EXPECT_EQ(refused("saved_bytes", "many"), "saved_bytes: \"many\" is no number");
  EXPECT_EQ(refused("phases", 3), "phases: 3 is no object");
  EXPECT_EQ(refused("notes", "a note"), "notes: \"a note\" is no list");
  EXPECT_EQ(refused("reason", {1}), "reason: [1] is no text");
  EXPECT_THAT(refused("status", "fine"), testing::HasSubstr("unknown status 'fine'"));
  EXPECT_THAT(refused("spec", 1), testing::HasSubstr("no object"));
}

TEST(Record, FiguresThatNoRunGivesAreRefused) {
  const auto refused = [](const char* key, const std::string& value) {
    nlohmann::json json = to_json(example());
    json[key] = "HERE";
    std::string line = json.dump();
    line.replace(line.find("\"HERE\""), 6, value);
    return message_of<std::invalid_argument>([&] { record_from_line(line); });
  };
  EXPECT_THAT(refused("peak_allocated_bytes", "-1"),
              testing::HasSubstr("-1 is no number from 0 on"));
  EXPECT_THAT(refused("saved_bytes", "-5"), testing::HasSubstr("-5 is no number from 0 on"));
  EXPECT_THAT(refused("phases", R"({"forward": {"allocated_bytes": -2}})"),
              testing::HasSubstr("-2 is no number from 0 on"));
  EXPECT_THAT(refused("step_ms", "[1e306]"), testing::HasSubstr("no time in milliseconds"))
      << "310 digits in a table";
  EXPECT_THAT(refused("step_ms", "[-1]"), testing::HasSubstr("no time in milliseconds"));
  EXPECT_NE(refused("step_ms", "[" + std::string(310, '9') + "]"), "") << "beyond a double";
  EXPECT_THAT(refused("spec", "{}"), testing::HasSubstr("no settings of a run"));
}

TEST(Record, AFigureThatAnotherProgramWroteAsAFractionIsTheWholeNumber) {
  nlohmann::json json = to_json(example());
  json["saved_bytes"] = 3e9;
  EXPECT_EQ(record_from_line(json.dump()).saved_bytes, 3000000000);
}

TEST(Record, CopiesShareAnEnvironmentUntilOneIsWrittenTo) {
  Record a = example();
  a.environment["device"] = "cpu";
  Record b = a;
  EXPECT_EQ(&a.environment.get(), &b.environment.get());
  b.environment["device"] = "cuda:0";
  EXPECT_EQ(a.environment.at("device"), "cpu");
  EXPECT_EQ(b.environment.at("device"), "cuda:0");
}

TEST(Named, IsInTheOrderOfTheNamesWhateverTheyWereAddedIn) {
  Named<int64_t> figures = {{"b", 2}, {"c", 3}};
  figures["a"] = 1;
  figures["c"] += 1;
  std::string seen;
  for (const auto& [name, figure] : figures) seen += name.text() + std::to_string(figure);
  EXPECT_EQ(seen, "a1b2c4");
  EXPECT_TRUE(figures.contains("b") && !figures.contains("d"));
  EXPECT_EQ(figures.find(""), figures.end());
  EXPECT_THROW(figures.at("d"), std::out_of_range);
  EXPECT_EQ(figures, (std::map<std::string, int64_t>{{"a", 1}, {"b", 2}, {"c", 4}}));
}

// Files of Records outlive the program that wrote them.
TEST(Record, OfVersion1IsReadAndItsSpaceIsThatOfItsDevice) {
  nlohmann::json json = to_json(example());
  json["schema_version"] = 1;
  for (const char* newer : {"space", "spaces", "phase_runs", "residual_blocks"}) json.erase(newer);
  json["environment"] = {{"device", "cpu"}};
  const Record on_host = record_from_line(json.dump());
  EXPECT_EQ(on_host.space, MemorySpace::kHost);
  EXPECT_EQ(on_host.peak->allocated, 300);
  EXPECT_TRUE(on_host.spaces.empty());
  json["environment"] = {{"device", "cuda:0"}};
  EXPECT_EQ(record_from_line(json.dump()).space, MemorySpace::kDevice);
}

// In version 2 "flash" was the kernel that libtorch chose.
TEST(Record, OfVersion2SaysSdpaWhereItSaidFlash) {
  nlohmann::json json = to_json(example());
  json["spec"]["attention"] = "flash";
  EXPECT_EQ(record_from_line(json.dump()).spec.attention, Attention::kFlash);
  for (const int version : {1, 2}) {
    json["schema_version"] = version;
    EXPECT_EQ(record_from_line(json.dump()).spec.attention, Attention::kSdpa);
    json["spec"]["attention"] = "eager";
    EXPECT_EQ(record_from_line(json.dump()).spec.attention, Attention::kEager);
    json["spec"]["attention"] = "flash";
  }
}

// The struct of an item, a named or an optional member; void: plain figures.
template <typename Member>
struct StructIn {
  using type = std::conditional_t<HasFields<Member>, Member, void>;
};
template <template <typename...> typename Holder, typename Value, typename... Rest>
struct StructIn<Holder<Value, Rest...>> : StructIn<std::remove_const_t<Value>> {};

template <typename Struct>
void add_keys(std::set<std::string>& keys, const std::string& prefix = "") {
  for_each_field<Struct>([&]<typename Member>(const JsonField<Struct, Member>& field) {
    using Inner = typename StructIn<Member>::type;
    if (!field.is_beside()) keys.insert(prefix + field.key);
    if constexpr (!std::is_void_v<Inner>) add_keys<Inner>(keys, field.prefix);
  });
}

TEST(Record, EveryKeyStandsInItsDocument) {
  const std::string document = read_text(HEADROOM_SOURCES "/docs/inside/record.md");
  std::set<std::string> keys;
  add_keys<Record>(keys);
  EXPECT_GT(keys.size(), 60U);
  for (const std::string& key : keys) {
    const bool stands = document.find("`" + key) != std::string::npos ||
                        document.find("." + key + "`") != std::string::npos;
    EXPECT_TRUE(stands) << key;
  }
}

// A reader of version 1 uses these names.
TEST(Record, KeepsTheKeysOfVersion1) {
  const nlohmann::json json = to_json(example());
  for (const char* key : {"name",
                          "status",
                          "reason",
                          "spec",
                          "environment",
                          "phase_order",
                          "peak_phase",
                          "categories_at_peak_bytes",
                          "category_peak_bytes",
                          "predicted",
                          "step_ms",
                          "losses",
                          "trace_truncated",
                          "trace_events",
                          "notes",
                          "peak_allocated_bytes",
                          "peak_reserved_bytes",
                          "peak_requested_bytes",
                          "recorded_peak",
                          "phases",
                          "residual_bytes_per_block",
                          "residual_tensors_per_block",
                          "saved_bytes"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}

}  // namespace
}  // namespace headroom
