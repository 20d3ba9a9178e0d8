#include "profiling/tracker/symbol_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "profiling/tracker/loaded_code.h"
#include "tests/files/scratch_directory.h"

namespace headroom {

// Not in an anonymous namespace: their names are compared.
[[gnu::noinline]] int first_function(int x) { return x + 1; }
[[gnu::noinline]] int second_function(int x) { return x + 2; }

namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;

const LoadedCode& holder_of(const std::vector<LoadedCode>& loaded, uint64_t address) {
  for (const LoadedCode& code : loaded) {
    if (code.holds(address)) return code;
  }
  throw std::runtime_error("nobody holds it");
}

TEST(SymbolTable, FunctionsOfTheProgramAreNamedInAnyOrder) {
  const auto loaded = loaded_code();
  const auto first = reinterpret_cast<uint64_t>(&first_function);
  const auto second = reinterpret_cast<uint64_t>(&second_function);
  const LoadedCode& program = holder_of(loaded, first);
  EXPECT_THAT(functions_at(program.path, {second - program.base + 1, first - program.base,
                                          second - program.base, 0}),
              ElementsAre("headroom::second_function(int)", "headroom::first_function(int)",
                          "headroom::second_function(int)", ""));
}

TEST(SymbolTable, AStrippedLibraryNamesWhatItExports) {
  const auto loaded = loaded_code();
  const auto address = reinterpret_cast<uint64_t>(&fprintf);
  const LoadedCode& libc = holder_of(loaded, address);
  EXPECT_THAT(functions_at(libc.path, {address - libc.base}),
              ElementsAre(AnyOf("fprintf", "_IO_fprintf")));
}

TEST(SymbolTable, AFileThatIsNoLibraryNamesNothing) {
  const ScratchDirectory directory;
  const std::string broken = directory.file("broken.so");
  EXPECT_THAT(functions_at(broken, {1}), ElementsAre("")) << "missing";
  for (const std::string& bytes : {std::string(), std::string("no ELF"),
                                   std::string("\x7f"
                                               "ELF\x02\x01\x01",
                                               7) +
                                       std::string(90, '\xff')}) {
    std::ofstream(broken) << bytes;
    EXPECT_THAT(functions_at(broken, {0, 1, UINT64_MAX}), ElementsAre("", "", ""));
  }
  EXPECT_THAT(functions_at("linux-vdso.so.1", {}), IsEmpty());
}

TEST(SymbolTable, ANameThatIsNotMangledStays) {
  EXPECT_EQ(demangled("main"), "main");
  EXPECT_EQ(demangled("_ZN2at5emptyEv"), "at::empty()");
}

}  // namespace
}  // namespace headroom
