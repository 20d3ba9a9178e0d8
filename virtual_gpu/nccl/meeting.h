// Where ranks that run as processes of one dry run tell each other what none knows alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace virtual_gpu {

// The start of the names of files of one `kind` that all ranks find for the same `what`: beside the
// dry run's reports, or where ranks run one after the other, in their job's folder
// (HEADROOM_VIRTUAL_JOB); nullopt where there is none (HEADROOM_VIRTUAL_REPORT is not set).
std::optional<std::string> shared_stem(const std::string& kind, const std::string& what);

// Every rank of `size` calls this with the same `what` and its own word (no white space); the words
// of all come back, by rank. Waits for all of them, as NCCL does; nullopt when `gives_up` says so,
// or where there is no folder to meet in.
//
// Note [Ranks meet in files]
// Rationale: how large a part of a split communicator is, only the others' colors tell.
// Approach: a file per rank beside the dry run's reports, which goes with its folder; a rename
//   makes it appear whole.
// Limits: one machine; a rank that never comes is waited for, as on cards.
std::optional<std::vector<std::string>> meet(const std::string& what, int rank, int size,
                                             const std::string& word,
                                             const std::function<bool()>& gives_up);

}  // namespace virtual_gpu
