// headroom doctor: what this machine has and lacks, and the command that repairs it.
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/doctor/checks.h"
#include "cli/doctor/finding_text.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace headroom {
namespace {

CommandLine doctor_command_line() {
  return {
      "doctor [flags]",
      "Checks this machine: driver and cards with their clocks and users, libtorch, the virtual\n"
      "GPU, Python packages, limits of memory and of processes, disks, and variables that change\n"
      "figures. Says for each missing part which commands need it, and the command that repairs\n"
      "it. Exit code 5 if no step can run here.",
      {{"json", "", "print JSON instead of tables", "Output"}}};
}

int run_doctor(const Arguments& arguments) {
  Findings findings;
  const auto add = [&](const char* area, const auto& check) {
    log_status(std::string("checking ") + area);
    for (Finding& finding : check()) findings.push_back(std::move(finding));
  };
  add("cards", [] { return check_cards(); });
  add("programs", [] { return check_programs(); });
  add("the host", [] { return check_host(); });
  add("the environment", [] { return check_environment(); });
  log_status("");
  // Names of files may be no UTF-8.
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  print(arguments.has("json") ? to_json(findings).dump(2, ' ', true, replace) + "\n"
                              : to_text(findings, page_width()));
  return is_usable(findings) ? kExitOk : kExitEnvironment;
}

}  // namespace

int run_doctor_command(int argc, char** argv) {
  return parse_and_run(doctor_command_line(), argc, argv, run_doctor);
}

}  // namespace headroom
