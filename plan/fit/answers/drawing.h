// The figure and the table of a document of `headroom fit --format json`. No torch here.
//
// `headroom fit` draws from its document too, so a saved one gives the same picture. A document
// that lacks a key throws nlohmann::json::exception.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "text/table.h"

namespace headroom {

bool is_fit_document(const nlohmann::ordered_json& document);

// "Cheapest sets that fit: 7b on rtx4090, batch 1, context 2048". `asked` and `card` are members of
// the document.
std::string fit_title(const nlohmann::ordered_json& asked, const std::string& card);
std::string fit_title(const nlohmann::ordered_json& document);

// The answers' peaks in order of cost, the card's memory as a line. Needs an answer.
std::string fit_svg(const nlohmann::ordered_json& document);

// Each answer with its peak, its margin and the command that runs it.
Table fit_table(const nlohmann::ordered_json& document);

}  // namespace headroom
