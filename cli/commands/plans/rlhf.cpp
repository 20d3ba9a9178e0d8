// headroom rlhf: computes the memory of an RLHF iteration, phase by phase.
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/flags/plans/rlhf_flags.h"
#include "cli/flags/setup_file.h"
#include "cli/flags/timeline_flag.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/record_files.h"
#include "cli/terminal.h"
#include "files/atomic_file.h"
#include "plan/closed_form/report.h"
#include "plan/measured.h"
#include "plan/rlhf/report.h"
#include "plan/rlhf/timeline.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

CommandLine rlhf_command_line() {
  return {"rlhf [flags]",
          "Computes the memory of one RLHF iteration per GPU without running it: actor, critic,\n"
          "reward and reference model in generation, scoring and training, the data that moves\n"
          "between the phases, and which set-up fits.",
          rlhf_flags()};
}

std::vector<Record> records_from(const Arguments& arguments) {
  if (!arguments.has("records")) return {};
  return records_of_files(file_list("--records", arguments.get("records")), Keep::kFigures,
                          "--records: ")
      .records;
}

void write_svg(const RlhfPlan& plan, const std::string& path) {
  const RlhfSpec& spec = plan.spec;
  const std::string title = "RLHF memory timeline: " + spec.actor.name + " on " +
                            std::to_string(spec.num_gpus) + " x " + spec.card.name + ", " +
                            to_string(spec.setup.layout);
  write_file_atomically(path, svg(timeline(plan), title));
}

void print_plan(const RlhfPlan& plan, const std::vector<Record>& records, TableFormat format) {
  const bool text = format == TableFormat::kText;
  const bool colour = text && takes_colour();
  const size_t width = page_width();
  const TextStyle style{.bars = text, .ascii = !locale_is_utf8(), .colour = colour, .width = width};
  std::vector<Table> before = setup_report(plan);  // the answer
  for (Table& table : phase_report(plan, style)) before.push_back(std::move(table));
  std::vector<Table> after = advice_report(plan);
  if (!records.empty()) after.push_back(measured_table(records));
  if (!text) {
    for (Table& table : after) before.push_back(std::move(table));
    if (format == TableFormat::kJson) {
      before.back().notes.push_back(in_words(plan.recommendation.questions));
    }
    print(to_string(before, format));
    return;
  }
  const std::string page = to_string(before, format, width) + "\n" +
                           drawing(timeline(plan), style) + "\n" + to_string(after, format, width);
  print(colour ? with_coloured_verdicts(page) : page);
}

int print_rlhf(const Arguments& typed) {
  const Arguments arguments = with_setup_file(typed, rlhf_flags());
  const RlhfSpec spec = rlhf_spec_from(arguments);
  const TableFormat format = parse_table_format("--format", arguments.get("format", "table"));
  const Formula formula = formula_from(arguments);
  const std::string output = timeline_file_from(arguments);
  const std::vector<Record> records = records_from(arguments);
  const bool closed_form = formula == Formula::kClosedForm;
  if (closed_form && (!output.empty() || !records.empty())) {
    throw UsageError("--formula", word_of(formula),
                     "prints tables only; --output and --records need --formula exact",
                     "--formula exact --output timeline.svg");
  }
  if (closed_form) {
    print_tables(closed_form_report(spec), format);
    return kExitOk;
  }
  const std::vector<Record> same_shape = comparable(records, &spec.actor);
  if (arguments.has("records") && same_shape.empty()) {
    log_warning("--records: none of the " + std::to_string(records.size()) +
                " Records is a training step of this shape");
  }
  if (!output.empty()) check_writable(output);  // before the search, not after it
  const RlhfPlan plan(spec);
  if (!output.empty()) write_svg(plan, output);
  print_plan(plan, same_shape, format);
  return plan.recommendation.fitting.empty() ? kExitAllFailed : kExitOk;
}

}  // namespace

int run_rlhf_command(int argc, char** argv) {
  return parse_and_run(rlhf_command_line(), argc, argv, print_rlhf);
}

}  // namespace headroom
