#include "profiling/tracker/stacks.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/torch.h"
#include "profiling/tracker/memory_tracker.h"

namespace headroom {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// "function at file:line" of every frame of one stack, innermost first.
std::vector<std::string> frames_of(const Snapshot& snapshot, int32_t stack) {
  std::vector<std::string> frames;
  for (const int32_t index : snapshot.stacks.at(static_cast<size_t>(stack))) {
    const Frame& frame = snapshot.frames.at(static_cast<size_t>(index));
    frames.push_back(frame.name + " at " + frame.filename + ":" + std::to_string(frame.line));
  }
  return frames;
}

constexpr const char* kInThisFile = "/profiling/tracker/stacks_test\\.cpp:[1-9]";

struct Captured {
  StackTable table;
  int32_t stack = -1;
};

void capture_into(void* captured) {
  auto* into = static_cast<Captured*>(captured);
  into->stack = into->table.capture();
}

std::vector<std::string> named(const Captured& captured) {
  Snapshot snapshot;
  snapshot.device_traces = {{{.stack = captured.stack}}};
  captured.table.symbolize_into(snapshot);
  return frames_of(snapshot, captured.stack);
}

// This program's path does not contain "headroom".
TEST(Stacks, FramesOfTheRunningProgramHaveFileAndLineWhateverItIsCalled) {
  Captured captured;
  capture_into(&captured);
  EXPECT_THAT(named(captured), Contains(ContainsRegex(kInThisFile)));
}

TEST(Stacks, FramesOfALibraryAreItsOwnWhateverItsPathSays) {
  ASSERT_THAT(HEADROOM_CALLER, HasSubstr("headroom"));
  void* library = dlopen(HEADROOM_CALLER, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto call_back =
      reinterpret_cast<void (*)(void (*)(void*), void*)>(dlsym(library, "call_back"));
  Captured captured;
  call_back(&capture_into, &captured);
  const std::vector<std::string> frames = named(captured);
  const auto caller = std::find_if(frames.begin(), frames.end(), [](const std::string& frame) {
    return frame.find("call_back at ") != std::string::npos;
  });
  ASSERT_NE(caller, frames.end()) << testing::PrintToString(frames);
  EXPECT_THAT(*caller, HasSubstr("libheadroom_caller.so:0")) << "it has no lines";
  ASSERT_NE(caller, frames.begin());
  EXPECT_THAT(*(caller - 1), ContainsRegex(kInThisFile)) << "what it called";
}

TEST(Stacks, WhatASnapshotDoesNotReferToIsNotNamed) {
  Captured captured;
  capture_into(&captured);
  Snapshot snapshot;
  captured.table.symbolize_into(snapshot);
  EXPECT_EQ(snapshot.stacks.size(), 1U);
  EXPECT_TRUE(snapshot.stacks[0].empty());
  EXPECT_TRUE(snapshot.frames.empty());
}

TEST(Stacks, TheRecorderIsNotInTheStackOfAnAllocation) {
  const std::unique_ptr<MemoryTracker> tracker = make_host_tracker(0);
  tracker->start_recording({.stacks = Stacks::kCpp});
  const torch::Tensor tensor = torch::empty({100});
  Snapshot snapshot;
  bool truncated = true;
  tracker->stop_recording(&snapshot, &truncated);
  ASSERT_EQ(snapshot.device_traces.at(0).size(), 1U);
  const std::vector<std::string> frames = frames_of(snapshot, snapshot.device_traces[0][0].stack);
  EXPECT_THAT(frames, Contains(ContainsRegex(kInThisFile)));
  EXPECT_THAT(frames, Not(Contains(HasSubstr("/profiling/tracker/host_"))));
  EXPECT_THAT(frames, Not(Contains(HasSubstr("unwind"))));
}

}  // namespace
}  // namespace headroom
