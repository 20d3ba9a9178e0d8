// Lines of a dry run about the ranks of a distributed program. No torch here.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace headroom {

// True if a process of dryrun_document() is a rank (has RANK in its environment).
bool has_ranks(const nlohmann::ordered_json& document);

// "rank 3"; only for a rank.
std::string rank_name(const nlohmann::ordered_json& process);
// "3"; empty for a process that is not a rank.
std::string rank_cell(const nlohmann::ordered_json& process);

// The rank with the highest peak, and the free memory of its card; empty with fewer than two ranks.
std::string fullest_rank_line(const nlohmann::ordered_json& document);

// NCCL's own peak memory on the process's cards: Note [NCCL's own memory].
int64_t nccl_bytes(const nlohmann::ordered_json& process);
bool has_nccl(const nlohmann::ordered_json& document);

// The traffic of all its communicators, by kind; empty if it has none. who: the line's beginning
// if the process is not a rank.
std::string collectives_line(const std::string& who, const nlohmann::ordered_json& process);

}  // namespace headroom
