// A minimal sweeping program, for tests that kill one: sweep_driver RECORDS SEED,SEED...
// Rows on stdout, messages on stderr; the cell program is $HEADROOM_CELL.
#include <exception>
#include <iostream>

#include "bench/sweep/sweep.h"
#include "text/quantity.h"

int main(int argc, char** argv) {
  using namespace headroom;
  const auto say = [](const std::string& line) { std::cerr << line << std::endl; };
  try {
    if (argc != 3) throw UsageError("sweep_driver RECORDS SEED,SEED...");
    const RunSpec defaults;
    const SweepResult result =
        run_sweep(expand(defaults, {{"seed", parse_list("SEED", argv[2], "SEED 1,2")}}),
                  {.cell = {.on_talk = say}, .records_path = argv[1], .on_progress = say});
    for (const Record& record : result.records) {
      std::cout << row_name(record.spec) << " " << to_string(record.status) << " "
                << (record.peak ? record.peak->allocated : -1) << "\n";
    }
    return exit_code(result);
  } catch (const UsageError& error) {
    say(error.what());
    return 2;
  } catch (const std::exception& error) {
    say(error.what());
    return 5;
  }
}
