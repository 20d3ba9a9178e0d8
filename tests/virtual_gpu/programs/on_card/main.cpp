// usage: on_card contract|log-probs|checkpoint-graph|ppo, or on_card queries CAPABILITY
#include <cstdio>
#include <string_view>

#include "tests/virtual_gpu/programs/on_card/on_card.h"

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "contract") return headroom::check_contract();
  if (what == "log-probs") return headroom::print_log_probs();
  if (what == "checkpoint-graph") return headroom::capture_checkpointed_steps();
  if (what == "ppo") return headroom::check_ppo();
  if (what == "queries" && count > 2) return headroom::check_queries(words[2]);
  std::fputs("usage: on_card contract|log-probs|checkpoint-graph|ppo|queries CAPABILITY\n", stderr);
  return 2;
}
