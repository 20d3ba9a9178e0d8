#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "cli/doctor/checks.h"
#include "cli/doctor/finding_text.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;
using State = Finding::State;

Finding named(const Findings& findings, const std::string& name) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return finding.name == name; });
  if (found == findings.end()) throw std::out_of_range(name);
  return *found;
}

// An environment variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(DoctorCards, TellMemoryClocksAndUsers) {
  const Variable pids("STUB_NVML_PIDS", "4711");
  const Findings findings = check_cards(STUB_NVML);
  EXPECT_EQ(named(findings, "driver").found, "580.65.06, for CUDA 13.0 and older");
  EXPECT_EQ(named(findings, "card 0").found, "NVIDIA Stub, 24.000 GiB, 1.000 GiB in use");
  const Finding clock = named(findings, "card 0 clock");
  EXPECT_THAT(clock.found, HasSubstr(" of 1980 MHz, memory 2619 MHz, limited by: "));
  EXPECT_EQ(clock.figures.at("highest_sm_clock_mhz"), 1980);
  const Finding users = named(findings, "card 0 users");
  EXPECT_EQ(users.state, State::kNote);
  EXPECT_EQ(users.found, "pid 4711 (2.000 GiB)");
  EXPECT_THAT(users.repair, HasSubstr("nvidia-smi"));
}

TEST(DoctorCards, ALoweredClockIsANote) {
  check_cards(STUB_NVML);  // the stub's card is too hot from its second query on
  const Finding clock = named(check_cards(STUB_NVML), "card 0 clock");
  EXPECT_EQ(clock.state, State::kNote);
  EXPECT_THAT(clock.found, HasSubstr("limited by: power cap, hardware thermal slowdown"));
}

TEST(DoctorCards, ADriverOlderThanCudaIsBroken) {
  const Variable old("STUB_NVML_CUDA", "12020");
  const Finding driver = named(check_cards(STUB_NVML), "driver");
  EXPECT_EQ(driver.state, State::kBroken);
  EXPECT_THAT(driver.found, HasSubstr("for CUDA 12.2 and older"));
  EXPECT_FALSE(driver.needed_by_all) << "virtual cards need no driver";
}

TEST(DoctorCards, WithoutTheLibraryOnlyTheDriverIsMissing) {
  const Findings findings = check_cards("libno-such-nvml.so.1");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].state, State::kMissing);
  EXPECT_THAT(findings[0].found, HasSubstr("libno-such-nvml.so.1 is not available"));
}

TEST(DoctorCards, ADriverThatDoesNotStartIsNoMissingLibrary) {
  const Variable broken("STUB_NVML_BROKEN", "1");
  EXPECT_THAT(check_cards(STUB_NVML).at(0).found, HasSubstr("does not start: error 9"));
}

TEST(DoctorHost, MemoryIsThatOfTheControlGroup) {
  const ScratchDirectory folder;
  const KernelPaths paths = {folder.file("proc"), folder.file("cgroup")};
  write_text(paths.proc + "/meminfo", "MemAvailable:   33554432 kB\n");
  write_text(paths.proc + "/self/cgroup", "0::/job\n");
  write_text(paths.cgroup + "/job/memory.max", "1073741824\n");
  write_text(paths.cgroup + "/job/memory.current", "0\n");
  const Finding memory = named(check_host(paths), "memory");
  EXPECT_EQ(memory.state, State::kNote) << "1 GiB is little";
  EXPECT_EQ(memory.found, "1.000 GiB available to a run; the control group has at most 1.000 GiB");
  EXPECT_EQ(memory.figures.at("group_limit_bytes"), int64_t{1} << 30);
}

TEST(DoctorHost, AFolderThatDoesNotExistYetIsThatAboveIt) {
  const ScratchDirectory folder;
  const Variable temporary("TMPDIR", folder.file("not/yet/there").c_str());
  const Finding files = named(check_host(), "temporary files");
  EXPECT_EQ(files.state, State::kOk);
  EXPECT_GT(files.figures.at("free_bytes"), 0);
}

const Findings kSome = {
    {.area = "cards", .name = "driver", .found = "580"},
    {.area = "programs",
     .name = "libtorch",
     .state = State::kMissing,
     .found = "no file",
     .effect = "every command",
     .repair = "./scripts/setup.sh && cmake --build --preset release --target a-long-name",
     .needed_by_all = true}};

TEST(DoctorText, ACommandIsNeverFolded) {
  const std::string text = to_text(kSome, 40);
  EXPECT_THAT(text, HasSubstr("libtorch: needed for every command\n"
                              "  ./scripts/setup.sh && cmake --build --preset release --target "
                              "a-long-name\n"));
  EXPECT_THAT(text, Not(HasSubstr("driver: needed")));
}

TEST(DoctorText, OneNeededPartThatIsMissingMakesTheMachineUnusable) {
  EXPECT_FALSE(is_usable(kSome));
  EXPECT_TRUE(is_usable({kSome[0]}));
  const nlohmann::ordered_json json = to_json(kSome);
  EXPECT_EQ(json.at("usable"), false);
  EXPECT_EQ(json.at("checks").at(0).at("state"), "ok");
  EXPECT_TRUE(json.at("checks").at(0).at("repair").is_null());
  EXPECT_EQ(json.at("checks").at(1).at("effect"), "every command");
}

TEST(DoctorEnvironment, NamesVariablesThatChangeFigures) {
  const Variable threads("OMP_NUM_THREADS", "3");
  const Finding found = named(check_environment(), "OMP_NUM_THREADS");
  EXPECT_EQ(found.state, State::kNote);
  EXPECT_EQ(found.found, "3");
  EXPECT_EQ(found.repair, "unset OMP_NUM_THREADS");
}

}  // namespace
}  // namespace headroom
