#include "plan/fit/answers/report.h"

#include <algorithm>

#include "plan/cost/fullest_ranks.h"
#include "plan/fit/answers/command_line.h"
#include "plan/fit/questions/capacity.h"
#include "plan/fit/questions/need.h"
#include "profiling/report/rows/cells.h"
#include "profiling/theory/peak.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

// A mesh's batch is that of all replicas.
const char* name_of(const FitQuestion& question) {
  if (question.open == Open::kContext) return "context length";
  return question.meshes.gpus > 1 ? "global batch" : "batch size";
}

// The run must have ended ok.
FullestCard card_of(const FitFound& found, const FitAnswer& answer) {
  return fullest_card(found, *answer.verdict.record);
}

// "batch 13: oom, short by 1.2 GiB".
std::string beyond_in_words(const FitFound& found, const FitAnswer& answer) {
  if (!answer.beyond) return "nothing is";
  const Verdict& verdict = answer.beyond->verdict;
  std::string words = answer.beyond->what + ": ";
  if (verdict.of_host) {
    words += "host memory";
    return verdict.host_excess > 0 ? words + ", short by " + format_bytes(verdict.host_excess)
                                   : words + " refused";
  }
  const int64_t excess = answer.beyond->need - capacity_of(found.card);
  words += to_string(verdict.record->status);
  const bool of_nccl = verdict.reason.find("NCCL error") != std::string::npos;
  const std::string why = of_nccl ? ", NCCL's buffers" : ", free memory is fragmented";
  words += excess > 0 ? ", short by " + format_bytes(excess) : why;
  return words;
}

// Host memory is shown for one GPU, and for meshes if an answer keeps anything there.
bool shows_host(const FitFound& found) {
  const auto& answers = found.result.answers;
  return found.question.meshes.gpus == 1 ||
         std::any_of(answers.begin(), answers.end(), [](const FitAnswer& answer) {
           return predicted_host_need(answer.set.spec).bytes() > 0;
         });
}

void add_mesh_columns(Table& table) {
  table.columns.insert(table.columns.end(), {{"mesh"},
                                             {"ZeRO", true},
                                             {"set of techniques"},
                                             {"batch", true},
                                             {"global batch", true},
                                             {"fullest rank", true}});
  add_bytes_columns(table, "context, NCCL");
}

void add_mesh_cells(const FitFound& found, const FitAnswer& answer,
                    std::vector<std::string>& cells) {
  const RunSpec& spec = answer.set.spec;
  const FullestCard card = card_of(found, answer);
  const auto& names = answer.set.names;
  cells.insert(cells.end(),
               {to_string(spec.mesh), std::to_string(spec.zero),
                names.empty() ? "nothing" : join(names), std::to_string(spec.batch_size),
                std::to_string(global_batch(spec)), card.rank ? std::to_string(*card.rank) : "-"});
  add_bytes_cells(cells, card.beside);
}

Table answers_table(const FitFound& found) {
  const bool of_meshes = found.question.meshes.gpus > 1;
  // On meshes the batch has columns already.
  const bool of_value =
      found.question.open == Open::kContext || (found.question.open == Open::kBatch && !of_meshes);
  Table table{.title = title_of(found), .columns = {{"", true}}};
  if (of_meshes) {
    add_mesh_columns(table);
  } else {
    table.columns.push_back({"set of techniques"});
  }
  if (of_value) table.columns.push_back({name_of(found.question), true});
  add_bytes_columns(table, "peak");
  add_bytes_columns(table, "margin");
  table.columns.push_back({"margin %"});
  const bool has_host = shows_host(found);
  if (has_host) add_bytes_columns(table, "host, pinned");
  if (has_host) add_bytes_columns(table, "host, pageable");
  const bool has_disk = !found.question.disk.empty() && !of_meshes;
  if (has_disk) add_bytes_columns(table, "disk");
  table.columns.push_back({"one step beyond"});
  for (size_t i = 0; i < found.result.answers.size(); ++i) {
    const FitAnswer& answer = found.result.answers[i];
    std::vector<std::string> cells = {std::to_string(i + 1)};
    if (of_meshes) {
      add_mesh_cells(found, answer, cells);
    } else {
      cells.push_back(answer.set.in_words());
    }
    if (of_value) cells.push_back(std::to_string(answer.value));
    add_bytes_cells(cells, card_of(found, answer).peak);
    add_bytes_cells(cells, margin_of(found, answer));
    cells.push_back(percent(margin_of(found, answer), found.card.total_bytes));
    const HostNeed host = predicted_host_need(answer.set.spec);
    if (has_host) add_bytes_cells(cells, host.pinned);
    if (has_host) add_bytes_cells(cells, host.pageable);
    if (has_disk) add_bytes_cells(cells, predicted_disk_bytes(answer.set.spec));
    cells.push_back(beyond_in_words(found, answer));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string host_note(const FitQuestion& question) {
  const std::string ranks = std::to_string(std::min(gpus_of(question), kGpusPerNode));
  return "Host memory is that of the rank that keeps most; a host has " + ranks +
         " ranks, and each may keep as much as another.";
}

void add_notes(const FitFound& found, Table& table) {
  const FitResult& result = found.result;
  if (!result.answers.empty()) {
    table.notes.emplace_back(
        "Each was run on the virtual card, and so was one step beyond it, which does not fit.");
    table.notes.push_back(
        gpus_of(found.question) > 1
            ? "margin: " + format_bytes(found.card.total_bytes) +
                  " of the card less its CUDA context, NCCL's memory there (assumed) and the peak."
            : margin_in_words(found.card) + ".");
  }
  if (found.question.meshes.gpus > 1) {
    table.notes.emplace_back(
        "Peaks and margins are those of the fullest rank. The batch is per replica, the global "
        "batch over all replicas. Ranks of tp split tokens where these divide the context.");
    if (shows_host(found)) table.notes.push_back(host_note(found.question));
  }
  table.notes.push_back(grouped(static_cast<int64_t>(result.sets)) +
                        " sets; cheapest first, in this order of costs: " +
                        found.question.order.in_words(searcher(found.question)) + ".");
  for (const std::string& note : result.notes) table.notes.push_back(note + ".");
  if (result.stopped) table.notes.emplace_back("INTERRUPTED: the answers found until then.");
}

Table commands_table(const FitFound& found) {
  Table table{.title = "Commands", .columns = {{"", true}, {"command"}}};
  for (size_t i = 0; i < found.result.answers.size(); ++i) {
    const FitAnswer& answer = found.result.answers[i];
    table.rows.push_back({std::to_string(i + 1),
                          profile_command(answer.set.spec, host_limit_of_a_rank(found.question),
                                          ranks_of(*answer.verdict.record))});
  }
  return table;
}

// The memory that is short where nothing fits, and the missing bytes.
struct Shortage {
  const char* side = "card";
  int64_t bytes = 0;  // 0 or less: the free memory is fragmented
};

Shortage shortage_of(const Card& card, const FitAnswer& nearest) {
  if (nearest.verdict.of_host) return {"host", nearest.verdict.host_excess};
  return {"card", nearest.need - capacity_of(card)};
}

// The cards on which nothing fits.
Table smaller_table(const FitFound& found) {
  Table table{.title = "Smaller cards", .columns = {{"card"}, {"nearest set"}}};
  add_bytes_columns(table, "memory");
  table.columns.push_back({"short is the"});
  add_bytes_columns(table, "by");
  table.columns.push_back({"run there"});
  for (size_t i = 0; i < found.smaller.size(); ++i) {
    const FitAnswer& nearest = *found.of_smaller[i].nearest;
    const Shortage shortage = shortage_of(found.smaller[i], nearest);
    std::vector<std::string> cells = {found.smaller[i].name, nearest.set.in_words()};
    add_bytes_cells(cells, found.smaller[i].total_bytes);
    cells.emplace_back(shortage.side);
    add_bytes_cells(cells, shortage.bytes);
    cells.push_back(to_string(nearest.verdict.record->status));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

using Part = std::pair<std::string, int64_t>;

// A set's memory on the card at its peak, by groups.
std::vector<Part> parts_of_peak(const FitFound& found, const FitAnswer& nearest) {
  std::vector<Part> parts;
  int64_t nccl = nccl_bytes_of(nearest.set.spec, 0);
  RunSpec plain = nearest.set.spec;
  plain.alloc_conf.clear();
  if (has_predicted_peak(plain)) {
    const int64_t rank = predicted_fullest(plain).rank;
    nccl = nccl_bytes_of(plain, rank);
    for (const Row& row : predicted_peak(plain, Head::kLanguage, rank).rows) {
      const auto known = std::find_if(parts.begin(), parts.end(),
                                      [&](const Part& part) { return part.first == row.group; });
      if (known == parts.end()) {
        parts.emplace_back(row.group, row.bytes);
      } else {
        known->second += row.bytes;
      }
    }
  }
  parts.emplace_back("CUDA context", found.card.context_bytes);
  if (nccl > 0) parts.emplace_back("NCCL, assumed", nccl);
  parts.emplace_back("all", nearest.need + found.card.context_bytes);
  parts.emplace_back("the card", found.card.total_bytes);
  return parts;
}

// A set's memory on the host.
std::vector<Part> parts_of_host(const FitFound& found, const RunSpec& spec) {
  const HostNeed need = predicted_host_need(spec);
  return {{"pinned memory", need.pinned},
          {"pageable memory", need.pageable},
          {"all", need.bytes()},
          {gpus_of(found.question) > 1 ? "a rank's part of --host-memory" : "--host-memory",
           *host_limit_of_a_rank(found.question)}};
}

// " for 8 ranks of 8 GiB"; "" for one GPU.
std::string share_of_host(const FitQuestion& question) {
  if (gpus_of(question) == 1) return "";
  return " for " + std::to_string(std::min(gpus_of(question), kGpusPerNode)) + " ranks of " +
         format_bytes(*host_limit_of_a_rank(question));
}

// Nothing fits: the nearest set's shortage, and its memory on that side.
Table nearest_table(const FitFound& found) {
  const FitAnswer& nearest = *found.result.nearest;
  const bool is_host = nearest.verdict.of_host;
  Table table{.title = title_of(found),
              .columns = {{is_host ? "on the host" : "on the card, at the peak"}}};
  add_bytes_columns(table, "memory");
  const auto parts =
      is_host ? parts_of_host(found, nearest.set.spec) : parts_of_peak(found, nearest);
  for (const auto& [name, bytes] : parts) {
    std::vector<std::string> cells = {name};
    add_bytes_cells(cells, bytes);
    table.rows.push_back(std::move(cells));
  }
  table.notes.push_back("NOTHING FITS: " + nothing_fits(found) + ".");
  table.notes.push_back("Run on the virtual card: " + nearest.verdict.reason);
  return table;
}

}  // namespace

FullestCard fullest_card(const FitFound& found, const Record& record) {
  FullestCard card{
      .rank = std::nullopt,
      .peak = record.peak->allocated,
      .beside = record.environment.value("beside_allocator_bytes", found.card.context_bytes)};
  // The Record has the rank with the highest peak; NCCL may take more beside another rank's.
  const auto is_own = [&](const RankFigures& one) {
    return one.peak.allocated == record.peak->allocated;
  };
  const auto own = std::find_if(record.ranks.begin(), record.ranks.end(), is_own);
  if (own == record.ranks.end()) return card;
  const auto fullest = std::max_element(
      record.ranks.begin(), record.ranks.end(), [](const RankFigures& a, const RankFigures& b) {
        return a.peak.allocated + a.nccl_bytes < b.peak.allocated + b.nccl_bytes;
      });
  return {.rank = fullest->rank,
          .peak = fullest->peak.allocated,
          .predicted = fullest->predicted_bytes,
          .beside = card.beside + fullest->nccl_bytes - own->nccl_bytes};
}

int64_t margin_of(const FitFound& found, const FitAnswer& answer) {
  const FullestCard card = fullest_card(found, *answer.verdict.record);
  return found.card.total_bytes - card.beside - card.peak;
}

std::vector<int64_t> ranks_of(const Record& record) {
  std::vector<int64_t> ranks;
  for (const RankFigures& one : record.ranks) ranks.push_back(one.rank);
  return ranks;
}

std::string nothing_fits(const FitFound& found) {
  const FitAnswer& nearest = *found.result.nearest;
  const Shortage shortage = shortage_of(found.card, nearest);
  const bool is_plain = nearest.set.names.empty() && nearest.set.mesh.empty();
  std::string set = is_plain ? "the run as it is" : nearest.set.in_words();
  if (nearest.value > 0) {
    set +=
        ", at " + std::string(name_of(found.question)) + " " + std::to_string(nearest.value) + ",";
  }
  if (nearest.verdict.of_host && shortage.bytes <= 0) {
    return "with " + set + " host memory is refused: " + nearest.verdict.reason;
  }
  if (nearest.verdict.of_host) {
    return "with " + set + " the card would have room, and host memory is short by " +
           format_bytes(shortage.bytes) + ": " +
           format_bytes(predicted_host_need(nearest.set.spec).bytes()) + " needed, --host-memory " +
           format_bytes(*found.question.host_limit) + share_of_host(found.question);
  }
  if (shortage.bytes <= 0) {
    return set +
           " needs least, and the card's free memory is fragmented: " + nearest.verdict.reason;
  }
  return set + " needs least, and the card's memory is short by " + format_bytes(shortage.bytes);
}

std::vector<Table> fit_report(const FitFound& found) {
  std::vector<Table> tables;
  if (found.result.nearest) {
    tables.push_back(nearest_table(found));
  } else {
    tables.push_back(answers_table(found));
  }
  add_notes(found, tables.front());
  if (!found.smaller.empty()) tables.push_back(smaller_table(found));
  if (!found.result.answers.empty()) tables.push_back(commands_table(found));
  return tables;
}

}  // namespace headroom
