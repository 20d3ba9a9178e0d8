#include "bench/launch/ppo_card.h"

#include "bench/process/virtual_card.h"
#include "train/ppo/card_rules.h"

namespace headroom {

void settle_on_card(RunSpec& shared, const PpoSetup& setup) {
  if (!is_virtual(shared)) return;
  const Card card = virtual_card(shared.device).card;
  const CardBytes bytes{.total = card.total_bytes, .context = card.context_bytes};
  check_weights_fit(shared, setup, bytes);
  if (setup.gpu_memory_utilization == 0) return;
  shared.kv_cache_tokens = tokens_of_share(shared, setup, bytes);
}

}  // namespace headroom
