// Names of collective operations. No torch here.
#pragma once

#include "text/enum_words.h"

namespace headroom {

enum class Collective { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kSend };
inline const EnumWords<Collective>& words_of(Collective) {
  static const EnumWords<Collective> kWords = {{Collective::kAllReduce, "all_reduce"},
                                               {Collective::kReduceScatter, "reduce_scatter"},
                                               {Collective::kAllGather, "all_gather"},
                                               {Collective::kBroadcast, "broadcast"},
                                               {Collective::kSend, "send"}};
  return kWords;
}

}  // namespace headroom
