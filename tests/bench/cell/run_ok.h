// A whole run in this process that must succeed. No torch here: a Record holds everything.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cell/run.h"
#include "tests/train/support/own_directory.h"

namespace headroom {

// Notes on disk features that a test machine may lack: O_DIRECT, io_uring.
inline bool is_of_the_disk(const std::string& note) {
  for (const char* words : {"O_DIRECT", "io_uring", "reserves no space", "cannot lock"}) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

inline Record run_ok(RunSpec spec) {
  const OwnDirectory directory(spec);
  Record record = run(spec, {});
  std::erase_if(record.notes, is_of_the_disk);
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.reason, "");
  // FP16's loss scale is found by skipping steps.
  const char* expected = spec.precision == Precision::kFp16   ? "optimizer steps skipped"
                         : spec.precision == Precision::kTf32 ? "TF32 is arithmetic of NVIDIA cards"
                                                              : "no note at all";
  EXPECT_THAT(record.notes, testing::Each(testing::HasSubstr(expected)));
  return record;
}

inline std::optional<int64_t> held(const Record& record, const std::string& space) {
  const auto it = record.spaces.find(space);
  return it == record.spaces.end() ? std::nullopt : std::optional(it->second.peak.allocated);
}

inline std::optional<int64_t> traffic(const Record& record, const std::string& way) {
  const auto it = record.host_traffic.find(way);
  return it == record.host_traffic.end() ? std::nullopt : std::optional(it->second);
}

// The measured figures that theory predicts, by the names of Record::predicted.
inline std::map<std::string, int64_t> measured(const Record& record) {
  const std::map<std::string, std::optional<int64_t>> own = {
      {"activations", record.saved_bytes},
      {"recomputed", record.recomputed_bytes},
      {"residual_bytes_per_block", record.residual_bytes_per_block},
      {"residual_tensors_per_block", record.residual_tensors_per_block},
      {"to_host_bytes", traffic(record, "to_host")},
      {"to_card_bytes", traffic(record, "to_card")},
      {"from_disk_bytes", traffic(record, "from_disk")},
      {"to_disk_bytes", traffic(record, "to_disk")},
      {"disk_bytes", held(record, "disk")},
      {"disk_buffers_bytes", held(record, "disk_buffers")}};
  std::map<std::string, int64_t> bytes;
  for (const auto& [name, predicted] : record.predicted) {
    const auto quantity = own.find(name.text());
    bytes[name.text()] = quantity != own.end() ? quantity->second.value_or(-1)
                                               : record.category_peaks.at(name.text());
  }
  return bytes;
}

inline std::vector<std::string> phases_of(Mode mode) {
  if (mode == Mode::kTraining) return {"forward", "loss", "backward", "optimizer"};
  if (mode == Mode::kForwardBackward) return {"forward", "loss", "backward"};
  return {"forward"};
}

}  // namespace headroom
