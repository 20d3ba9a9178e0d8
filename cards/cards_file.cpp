#include "cards/cards_file.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "cards/builtin_cards.h"
#include "cards/card_json.h"
#include "files/mapped_file.h"
#include "files/whole_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using Json = nlohmann::json;

// The default link of a new card: 16 lanes x 16 GT/s x 128/130.
constexpr const char* kUsualLink = "PCIe 4.0 x16";
constexpr int64_t kUsualBandwidth = 31507692308;

// Fields with a source line of their own; the others share "properties".
std::string source_of(const std::string& field) {
  if (field == "host_link") return "host_bandwidth";
  for (const char* own : kSourceKeys) {
    if (field == own) return field;
  }
  return "properties";
}

bool same_name(const std::string& a, const std::string& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](unsigned char x, unsigned char y) {
           return std::tolower(x) == std::tolower(y);
         });
}

constexpr int64_t kMostBytes = int64_t{16} << 20;  // a file of cards has some KiB

Json read_document(const std::string& where, const std::string& path) {
  std::string text;
  try {
    text = read_whole_file(path, kMostBytes);
  } catch (const ReadError& error) {
    throw UsageError(where + ": cannot be read: " + error.reason());
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw UsageError(where + ": is not JSON at byte " + std::to_string(error.byte));
  }
}

// Matches a field's figures by their names in `assumed`: "clock_khz", "peak_tflops.fp64".
bool names_part_of(const std::string& assumed, const std::string& field, const Json& value) {
  if (assumed == field) return true;
  return value.is_object() && assumed.starts_with(field + ".") &&
         value.contains(assumed.substr(field.size() + 1));
}

void drop_assumed(Json& card, const std::string& field, const Json& value) {
  Json kept = Json::array();
  for (const Json& assumed : card.value("assumed", Json::array())) {
    if (!names_part_of(assumed.get<std::string>(), field, value)) kept.push_back(assumed);
  }
  card["assumed"] = kept;
}

std::string with_change(const std::string& source, const std::string& field,
                        const std::string& path) {
  return source + "; " + field + ": " + path;
}

// Merges the user's fields over a known card's. null removes a field, as in a JSON merge patch.
void change_card(Json& card, const Json& entry, const std::string& path) {
  // The old link's bandwidth does not apply to a new link, which is refused without its own.
  if (entry.contains("host_link") && entry.at("host_link") != card.at("host_link")) {
    card.erase("host_bandwidth");
  }
  for (const auto& [field, value] : entry.items()) {
    if (field == "name" || field == "sources" || field == "assumed") continue;
    if (value != card.value(field, Json())) {
      drop_assumed(card, field, value);
      if (field != "context" && field != "refused") {
        Json& source = card["sources"][source_of(field)];
        source = with_change(source.get<std::string>(), field, path);
      }
    }
    card.merge_patch({{field, value}});
    if (field == "context" && value.is_object() && !value.contains("source")) {
      card["context"]["source"] = path;
    }
  }
  for (const char* field : {"sources", "assumed"}) {
    if (entry.contains(field)) card.merge_patch({{field, entry.at(field)}});
  }
}

// For entries without a host link: older files have none.
void assume_link(Json& card, const std::string& path) {
  card["host_link"] = kUsualLink;
  card["host_bandwidth"] = kUsualBandwidth;
  Json& assumed = card["assumed"];
  if (assumed.is_null()) assumed = Json::array();
  const bool is_marked =
      std::find(assumed.begin(), assumed.end(), "host_bandwidth") != assumed.end();
  if (assumed.is_array() && !is_marked) assumed.push_back("host_bandwidth");
  Json& sources = card["sources"];
  if (sources.is_object() && sources.value("host_bandwidth", Json()) == path) {
    sources["host_bandwidth"] = std::string(kUsualLink) + " for want of any in " + path;
  }
}

Json new_card(const Json& entry, const std::string& path) {
  Json card;
  for (const char* key : kSourceKeys) card["sources"][key] = path;
  card.merge_patch(entry);
  if (!card.contains("host_link") && !card.contains("host_bandwidth")) assume_link(card, path);
  if (card.contains("context") && card["context"].is_object() &&
      !card["context"].contains("source")) {
    card["context"]["source"] = path;
  }
  return card;
}

std::string name_of(const std::string& where, const Json& entry, size_t index) {
  const std::string here = where + ": cards[" + std::to_string(index) + "]";
  if (!entry.is_object()) throw UsageError(here + ": is no object; allowed: {\"name\": ...}");
  if (!entry.contains("name") || !entry.at("name").is_string()) {
    throw UsageError(here + ": has no name; allowed: \"name\": \"h200\"");
  }
  return entry.at("name").get<std::string>();
}

void refuse_second(const std::string& where, const std::string& name,
                   const std::vector<std::string>& seen) {
  if (std::any_of(seen.begin(), seen.end(),
                  [&](const std::string& other) { return same_name(name, other); })) {
    throw UsageError(where + ": card '" + name + "' is there twice");
  }
}

// Shared data of cards. A user's entry gives its source; otherwise the file is the source.
void change_shared(const std::string& where, Json& known, const Json& entry,
                   const std::string& path) {
  if (!entry.is_object()) throw UsageError(where + " is no object");
  known.merge_patch(entry);
  if (entry.contains("source")) return;
  known["source"] = known.contains("source") && known["source"].is_string()
                        ? known["source"].get<std::string>() + "; changed by " + path
                        : path;
}

// Entries of the user's file change or extend the document's.
void merge_user_file(const std::string& where, Json& document, const Json& user,
                     const std::string& path) {
  if (!user.is_object()) throw UsageError(where + ": is no object; allowed: {\"cards\": [...]}");
  refuse_unknown_keys(where, user, {"about", "context_rule", "compute_capabilities", "cards"});
  if (user.contains("context_rule")) {
    change_shared(where + ": context_rule", document["context_rule"], user.at("context_rule"),
                  path);
  }
  const Json capabilities = user.value("compute_capabilities", Json::object());
  if (!capabilities.is_object()) throw UsageError(where + ": compute_capabilities is no object");
  const std::string here = where + ": compute_capabilities ";
  for (const auto& [name, limits] : capabilities.items()) {
    change_shared(here + name, document["compute_capabilities"][name], limits, path);
  }
  const Json entries = user.value("cards", Json::array());
  if (!entries.is_array()) throw UsageError(where + ": cards is no list; allowed: [{...}, ...]");
  std::vector<std::string> seen;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string name = name_of(where, entries[i], i);
    refuse_second(where, name, seen);
    seen.push_back(name);
    Json& cards = document["cards"];
    const auto known = std::find_if(cards.begin(), cards.end(), [&](const Json& card) {
      return same_name(card.at("name").get<std::string>(), name);
    });
    if (known == cards.end()) {
      cards.push_back(new_card(entries[i], path));
    } else {
      change_card(*known, entries[i], path);
    }
  }
}

}  // namespace

std::vector<Card> read_cards(const std::string& path) {
  Json document = Json::parse(builtin_cards());
  const std::string where = path.empty() ? "cards.json" : "HEADROOM_CARDS: " + path;
  if (!path.empty()) merge_user_file(where, document, read_document(where, path), path);
  std::vector<Card> cards;
  for (const Json& card : document.at("cards")) {
    cards.push_back(card_from_json(where + ": card '" + card.at("name").get<std::string>() + "'",
                                   card, document));
  }
  return cards;
}

}  // namespace headroom
