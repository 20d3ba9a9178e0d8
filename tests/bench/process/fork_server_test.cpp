#include "bench/process/fork_server.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "bench/launch/request.h"
#include "bench/process/child_process.h"
#include "profiling/record/record_reader.h"
#include "tests/bench/launch/stub_cell.h"
#include "tests/bench/process/process_state.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

class ForkServerTest : public testing::Test {
 protected:
  Command stub(int64_t seed, const std::string& alloc_conf = "") {
    Command command{.program = STUB_CELL,
                    .environment = changed_environment({}, {"PYTORCH_ALLOC_CONF=" + alloc_conf}),
                    .input = to_json_line(CellRequest{.spec = {.seed = seed}}),
                    .forks = &forks_};
    command.on_error_line = [this](const std::string& line) { talk_.push_back(line); };
    return command;
  }
  static Record record_of(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.last_error_line;
    return record_from_line(outcome.output.substr(0, outcome.output.find('\n')));
  }

  ForkServers forks_{{"PYTORCH_ALLOC_CONF"}};
  std::vector<std::string> talk_;
};

TEST_F(ForkServerTest, WhatItStartsIsAChildInAGroupOfItsOwnWithItsOwnEnvironment) {
  for (const char* alloc_conf : {"one", "two"}) {
    const Outcome outcome = run_command(stub(7, alloc_conf));
    const Record record = record_of(outcome);
    EXPECT_EQ(record.environment["is_forked"], true);
    EXPECT_EQ(record.environment["pid"], outcome.pid);
    EXPECT_EQ(record.environment["group"], outcome.pid);
    EXPECT_EQ(record.environment["alloc_conf"], alloc_conf);
    EXPECT_GT(outcome.max_rss_bytes, 1 << 20);
  }
}

TEST_F(ForkServerTest, ItsEndComesBackAsThatOfAProgramThatWasExecd) {
  const Outcome exited = run_command(stub(kStubExit));
  EXPECT_EQ(exited.exit_code, 7);
  EXPECT_EQ(exited.last_error_line, "terminate: weights are missing");
  EXPECT_EQ(run_command(stub(kStubKilled)).signal, SIGKILL);
  Command hanging = stub(kStubHang);
  hanging.deadline_seconds = 0.2;
  const Outcome late = run_command(hanging);
  EXPECT_TRUE(late.timed_out);
  EXPECT_EQ(talk_.back(), "hanging " + std::to_string(late.pid));
  EXPECT_TRUE(is_dead(late.pid));
}

TEST_F(ForkServerTest, WhatItStartedIsKilledWithItsGroup) {
  const Outcome outcome = run_command(stub(kStubGrandchild));
  EXPECT_EQ(record_of(outcome).environment["is_forked"], true);
  EXPECT_TRUE(is_dead(std::stoi(talk_.at(0).substr(std::string("left ").size()))));
}

TEST_F(ForkServerTest, WithoutAServerTheProgramIsExecd) {
  Command command = stub(3);
  run_command(command);
  command.input = to_json_line(CellRequest{.spec = {.seed = 3}});
  command.program = "/bin/false";  // prints nothing and ends
  EXPECT_EQ(run_command(command).exit_code, 1);
  command.environment = {"ONLY=this"};
  command.program = "/no/such/program";
  EXPECT_NE(run_command(command).spawn_error, "");
}

// kill -9 of the parent ends the server and all processes that it started.
TEST_F(ForkServerTest, WhatItStartedDiesWithTheParent) {
  const ScratchDirectory scratch;
  const std::string said = scratch.file("said");
  const pid_t parent = fork();
  if (parent == 0) {
    Command command = stub(kStubHang);
    command.on_error_line = [&](const std::string& line) { scratch.write("said", line); };
    run_command(command);
    _exit(0);
  }
  const std::string word = "hanging ";
  ASSERT_TRUE(eventually([&] { return read_text(said).size() > word.size(); }));
  const pid_t hanging = std::stoi(read_text(said).substr(word.size()));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(is_dead(hanging));
}

}  // namespace
}  // namespace headroom
