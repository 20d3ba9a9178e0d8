#include "profiling/tracker/own_frames.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>

#include "profiling/tracker/loaded_code.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// An address in the function that this is inlined into.
[[gnu::always_inline]] inline uint64_t here() {
  uint64_t address = 0;
  asm volatile("lea 0(%%rip), %0" : "=r"(address));
  return address - 1;
}

[[gnu::always_inline]] inline uint64_t inner() { return here(); }
[[gnu::always_inline]] inline uint64_t middle() { return inner(); }
[[gnu::noinline]] uint64_t outer() { return middle(); }

LoadedCode this_program() { return loaded_code().front(); }

TEST(OwnFrames, OfInlinedCallsEachHasItsLine) {
  const auto chains = own_frames_at(this_program(), {outer()});
  ASSERT_THAT(chains, SizeIs(1));
  ASSERT_THAT(chains[0], SizeIs(4));
  const char* const names[] = {"here", "inner", "middle", "outer"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(chains[0][i].name, HasSubstr(names[i]));
    EXPECT_THAT(chains[0][i].filename, HasSubstr("/tests/profiling/tracker/own_frames_test.cpp"));
    if (i > 0) {
      EXPECT_GT(chains[0][i].line, chains[0][i - 1].line);
    }
  }
}

TEST(OwnFrames, WhatIsNotOfTheProgramHasNone) {
  const auto chains =
      own_frames_at(this_program(), {reinterpret_cast<uint64_t>(&getenv), 0, UINT64_MAX});
  ASSERT_THAT(chains, SizeIs(3));
  for (const auto& chain : chains) EXPECT_THAT(chain, IsEmpty());
}

TEST(OwnFrames, OfALibraryWithDebugInformationAreItsLines) {
  void* const library = dlopen(HEADROOM_LINED_CALLER, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto address = reinterpret_cast<uint64_t>(dlsym(library, "call_back"));
  const std::vector<LoadedCode> loaded = loaded_code();
  const auto code = std::find_if(loaded.begin(), loaded.end(),
                                 [&](const LoadedCode& one) { return one.holds(address); });
  ASSERT_NE(code, loaded.end());
  const auto chains = own_frames_at(*code, {address, outer()});
  ASSERT_THAT(chains[0], SizeIs(1));
  EXPECT_THAT(chains[0][0].filename, HasSubstr("/tests/profiling/tracker/caller.cpp"));
  EXPECT_THAT(chains[1], IsEmpty()) << "it is the program's";
}

TEST(OwnFrames, EverybodyElseSeesAllThatIsLoaded) {
  own_frames_at(this_program(), {outer()});
  int count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info*, size_t, void* data) {
        ++*static_cast<int*>(data);
        return 0;
      },
      &count);
  EXPECT_GT(count, 3);
}

TEST(LoadedCode, TheProgramIsOneAndHoldsItsOwnFunctions) {
  int programs = 0;
  int holders = 0;
  for (const LoadedCode& code : loaded_code()) {
    programs += code.is_program ? 1 : 0;
    holders += code.holds(outer()) ? 1 : 0;
    EXPECT_EQ(code.is_program, code.holds(outer()));
  }
  EXPECT_EQ(programs, 1);
  EXPECT_EQ(holders, 1);
}

}  // namespace
}  // namespace headroom
