// What a dry run says of the ranks of a distributed program. No torch here.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace headroom {

// Of dryrun_document(): whether a process of it is a rank (has RANK in its environment).
bool has_ranks(const nlohmann::ordered_json& document);

// "rank 3" of a process that is one.
std::string rank_name(const nlohmann::ordered_json& process);
// "3"; empty for a process that is none.
std::string rank_cell(const nlohmann::ordered_json& process);

// Which rank took most of its card, and what that leaves; empty where there are not several.
std::string fullest_rank_line(const nlohmann::ordered_json& document);

// What NCCL takes of the process's cards for itself, at most: Note [What NCCL takes for itself].
int64_t nccl_bytes(const nlohmann::ordered_json& process);
bool has_nccl(const nlohmann::ordered_json& document);

// What went over all its communicators, by kind; empty where it has none. who: what the line begins
// with where the process is no rank.
std::string collectives_line(const std::string& who, const nlohmann::ordered_json& process);

}  // namespace headroom
