#include "profiling/snapshot/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profiling/snapshot/analysis/top.h"
#include "profiling/snapshot/pickle/pickle_read.h"
#include "profiling/snapshot/validate.h"
#include "profiling/snapshot/write.h"
#include "tests/files/scratch_directory.h"
#include "tests/profiling/snapshot/sample.h"

namespace headroom {
namespace {

using namespace std::string_literals;  // NOLINT: pickles hold zero bytes
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::string pickle_error(const std::string& bytes) {
  try {
    ByteReader reader(bytes);
    Pickle().read(reader);
  } catch (const PickleError& error) {
    return error.what();
  }
  return "";
}

class SnapshotRead : public testing::Test {
 protected:
  void put(const std::string& bytes) const { write_text(path_, bytes); }
  std::string bytes_of(const Snapshot& snapshot) const {
    write_snapshot(snapshot, path_);
    return read_text(path_);
  }
  std::string read_error(const std::string& bytes) const {
    put(bytes);
    try {
      read_snapshot(path_);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  ScratchDirectory directory_;
  std::string path_ = directory_.file("a.pickle");
};

TEST_F(SnapshotRead, AFileCutAnywhereIsRefusedWithTheByte) {
  const std::string whole = bytes_of(make_sample(400).snapshot);
  ASSERT_GT(whole.size(), 10'000);
  for (size_t size = 1; size < whole.size(); size += size < 3000 ? 1 : 37) {
    const std::string error = pickle_error(whole.substr(0, size));
    EXPECT_THAT(error, HasSubstr("cut short")) << size;
    EXPECT_THAT(error, HasSubstr("byte ")) << size;
  }
  EXPECT_EQ(pickle_error(whole), "");
  const std::string half = read_error(whole.substr(0, whole.size() / 2));
  EXPECT_THAT(half, HasSubstr("a.pickle: "));
  EXPECT_THAT(half, Not(HasSubstr("\n")));
  const auto problems = validate_snapshot_file(path_);
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_TRUE(problems[0].is_error);
  EXPECT_THAT(problems[0].text, HasSubstr("cut short"));
}

TEST_F(SnapshotRead, AFlippedByteNeverCrashes) {
  const std::string whole = bytes_of(make_sample(60).snapshot);
  uint32_t random = 1;
  int refused = 0;
  for (size_t at = 0; at < whole.size(); at += 3) {
    std::string bytes = whole;
    random = random * 1664525 + 1013904223;
    bytes[at] = static_cast<char>(random >> 24);
    try {
      const SnapshotFile file = parse_snapshot(bytes);
      refused += has_error(validate_snapshot(file)) ? 1 : 0;
      largest_allocations(file.snapshot, 0);
    } catch (const PickleError& error) {
      EXPECT_STRNE(error.what(), "");
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(SnapshotRead, CodeInAPickleIsRefusedByName) {
  EXPECT_THAT(pickle_error("\x80\x02"s
                           "cos\nsystem\nX\x02\x00\x00\x00ls\x85R."s),
              testing::AllOf(HasSubstr("byte 2"), HasSubstr("GLOBAL"), HasSubstr("call code")));
  EXPECT_THAT(pickle_error("\x80\x04\x8c\x02os\x8c\x06system\x93."s), HasSubstr("STACK_GLOBAL"));
  EXPECT_THAT(pickle_error("\x80\x02}R."s), HasSubstr("REDUCE"));
  EXPECT_THAT(pickle_error("\x80\x02}}b."s), HasSubstr("BUILD"));
  EXPECT_THAT(pickle_error("\x80\x03"s
                           "C\x01"
                           "a."s),
              HasSubstr("SHORT_BINBYTES"));
  EXPECT_THAT(pickle_error("\x80\x02\xf0."s), HasSubstr("0xf0"));
}

TEST_F(SnapshotRead, MalformedPicklesAreRefused) {
  const std::string bad[] = {
      "\x80\x02."s,  // nothing to return
      "\x80\x02"
      "a."s,  // append without values
      "\x80\x02"
      "e."s,            // batch without a mark
      "\x80\x02(]e."s,  // the mark hides the list
      "\x80\x02}(K\x01"
      "e."s,                      // items into a dict
      "\x80\x02](K\x01K\x02u."s,  // pairs into a list
      "\x80\x02}(X\x01\x00\x00\x00"
      "au."s,                         // a key alone
      "\x80\x02}(]K\x01u."s,          // a list as key
      "\x80\x02h\x05."s,              // never remembered
      "\x80\x02j\xff\xff\xff\xff."s,  // never remembered
      "\x80\x02q\x00."s,              // nothing to remember
      "\x80\x02K\x01\x87."s,          // tuple of three from one
      "\x80\x02(K\x01\x86."s,         // tuple across a mark
      "\x80\x02X\xff\xff\xff\xff"
      "abc."s,  // text longer than the file
      "\x80\x02\x8a\xff"
      "abc."s,        // integer longer than the file
      "\x80\x06}."s,  // protocol 6
      "\x80\x01}."s,  // protocol 1
  };
  for (const std::string& bytes : bad) {
    EXPECT_THAT(pickle_error(bytes), HasSubstr("byte ")) << testing::PrintToString(bytes);
  }
  EXPECT_THAT(pickle_error(""), HasSubstr("empty"));
  EXPECT_THAT(pickle_error("PK\x03\x04"), HasSubstr("torch.save"));
  EXPECT_THAT(pickle_error("{\"segments\": []}"), HasSubstr("JSON"));
  EXPECT_THAT(pickle_error("(dp0\n."), HasSubstr("0x28"));
}

TEST_F(SnapshotRead, AMemoNumberDoesNotReserveMemory) {
  const std::string bytes = "\x80\x02}r\xff\xff\xff\xff."s;
  ByteReader reader(bytes);
  Pickle pickle;
  pickle.read(reader);
  EXPECT_EQ(pickle.root().kind, PickleKind::kDict);
}

TEST_F(SnapshotRead, ListsInACircleAndRepeatedListsEnd) {
  // {segments: [], device_traces: [L, L, ...]} where L contains itself.
  std::string bytes =
      "\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00"
      "device_traces](]q\x01h\x01"
      "a"s;
  bytes += "eu."s;
  EXPECT_THAT(read_error(bytes), HasSubstr("no dict"));

  // A thousand references to one list of a thousand events: a million from six kilobytes.
  bytes =
      "\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00"
      "device_traces](](}(X\x06\x00\x00\x00"
      "actionX\x08\x00\x00\x00snapshotuq\x01"s;
  for (int i = 0; i < 999; ++i) bytes += "h\x01"s;
  bytes += "eq\x02"s;
  for (int i = 0; i < 999; ++i) bytes += "h\x02"s;
  bytes += "eu."s;
  EXPECT_THAT(read_error(bytes), HasSubstr("repeated"));
}

TEST_F(SnapshotRead, AnEventThatIsListedTwiceIsReadTwice) {
  const std::string bytes =
      "\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00"
      "device_traces](](}(X\x06\x00\x00\x00"
      "actionX\x08\x00\x00\x00snapshotuq\x01h\x01"
      "e](h\x01"
      "eeu."s;
  put(bytes);
  const Snapshot snapshot = read_snapshot(path_);
  ASSERT_THAT(snapshot.device_traces, SizeIs(2));
  EXPECT_THAT(snapshot.device_traces[0], SizeIs(2));
  EXPECT_THAT(snapshot.device_traces[1], SizeIs(1));
  EXPECT_EQ(snapshot.device_traces[1][0].action, TraceAction::kSnapshot);
}

TEST_F(SnapshotRead, AnEventsDictGivesItsMemoryBack) {
  struct Taker : EventTaker {
    void take_event(size_t, size_t, const PickleValue& dict) override { taken.push_back(dict); }
    std::vector<PickleValue> taken;
  } taker;
  const std::string bytes =
      "\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00"
      "device_traces](](}(X\x06\x00\x00\x00"
      "actionX\x08\x00\x00\x00snapshotueeu."s;
  ByteReader reader(bytes);
  Pickle pickle;
  pickle.read(reader, &taker);
  ASSERT_THAT(taker.taken, SizeIs(1));
  EXPECT_EQ(pickle.items(taker.taken[0]).capacity(), 0);
}

// libtorch's own pickler writes a list between one MARK and one APPENDS.
TEST_F(SnapshotRead, AListInOneBatchIsReadAndTheValidatorSaysTheViewerWillNot) {
  const std::string event =
      "}(X\x06\x00\x00\x00"
      "actionX\x08\x00\x00\x00snapshotu"s;
  for (const int events : {125'000, 125'001}) {
    std::string bytes =
        "\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00"
        "device_traces](]("s;
    for (int i = 0; i < events; ++i) bytes += event;
    put(bytes + "eeu.");
    EXPECT_THAT(read_snapshot(path_).device_traces.at(0), SizeIs(events));
    EXPECT_EQ(has_error(validate_snapshot_file(path_)), events > 125'000);
  }
  EXPECT_THAT(validate_snapshot_file(path_)[0].text, HasSubstr("RangeError"));
}

TEST_F(SnapshotRead, ImpossibleSizesAreRefusedBeforeTheyAreAdded) {
  Snapshot snapshot = make_sample(100).snapshot;
  snapshot.device_traces[0][50].size = INT64_MAX;
  EXPECT_THAT(read_error(bytes_of(snapshot)), HasSubstr("2^62"));
  snapshot.device_traces[0][50].size = -4;
  EXPECT_EQ(read_error(bytes_of(snapshot)), "");
  EXPECT_THAT(validate_snapshot_file(path_)[0].text,
              HasSubstr("'size' is negative, first: device_traces of device 0, entry 50"));
}

TEST_F(SnapshotRead, WhatIsNoSnapshotIsSaidSo) {
  EXPECT_THAT(read_error("\x80\x02]."s), HasSubstr("no dict"));
  EXPECT_THAT(read_error("\x80\x02}."s), HasSubstr("'segments' is missing"));
  EXPECT_THAT(read_error("\x80\x02}(X\x08\x00\x00\x00segmentsK\x01X\x0d\x00\x00\x00"
                         "device_traces]u."s),
              HasSubstr("not a list"));
  EXPECT_THROW(read_snapshot(directory_.path()), std::runtime_error);
  EXPECT_THROW(read_snapshot("/dev/zero"), std::runtime_error);
  EXPECT_THROW(read_snapshot(directory_.file("none.pickle")), std::runtime_error);
}

}  // namespace
}  // namespace headroom
