#include "bench/launch/preparation/ppo_card.h"

#include "bench/process/virtual_card.h"
#include "train/ppo/setup/card_rules.h"

namespace headroom {

void settle_on_card(RunSpec& shared, const PpoSetup& setup) {
  if (!is_virtual(shared)) return;
  const Card card = virtual_card(shared.device).card;
  settle_on({.total = card.total_bytes, .context = card.context_bytes}, shared, setup);
}

}  // namespace headroom
