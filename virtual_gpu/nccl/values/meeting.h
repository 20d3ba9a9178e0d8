// Exchange of data between the ranks of one dry run, which run as processes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace virtual_gpu {

// The common prefix of files of one `kind` that all ranks find for the same `what`: beside the dry
// run's reports, or if ranks run one after the other, in their job's folder (HEADROOM_VIRTUAL_JOB);
// nullopt without a folder (HEADROOM_VIRTUAL_REPORT is not set).
std::optional<std::string> shared_stem(const std::string& kind, const std::string& what);

// Every rank of `size` calls this with the same `what` and its own word (no white space); returns
// all words, by rank. Waits for all ranks, like NCCL; nullopt once `gives_up` is true, or without a
// folder to meet in.
//
// Note [Ranks meet in files]
// Rationale: the size of a part of a split communicator depends on the other ranks' colors.
// Approach: a file per rank beside the dry run's reports, deleted with that folder; a rename makes
//   it appear whole.
// Limits: one machine; a rank that never comes is waited for, as on cards.
std::optional<std::vector<std::string>> meet(const std::string& what, int rank, int size,
                                             const std::string& word,
                                             const std::function<bool()>& gives_up);

}  // namespace virtual_gpu
