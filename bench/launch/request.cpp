#include "bench/launch/request.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "files/links.h"
#include "text/json_line.h"

namespace headroom {
namespace {

using nlohmann::json;
using Bytes = std::vector<uint8_t>;

bool is_utf8(const std::string& text) {
  return json::parse(json_line(text)).get_ref<const std::string&>() == text;
}

}  // namespace

std::string to_json_line(const CellRequest& request) {
  json object = {{"spec", to_json(request.spec)},
                 {"host_memory_bytes", request.host_memory_bytes},
                 {"watch", request.watches},
                 {"progress", request.tells_progress}};
  if (request.ppo) object["ppo"] = to_json(*request.ppo);
  for (const Field& field : fields()) {
    const std::string text = field.get(request.spec);
    if (!is_utf8(text)) object["bytes"][field.name] = Bytes(text.begin(), text.end());
  }
  return json_line(object) + "\n";
}

CellRequest request_from_json(const std::string& text) {
  const json object = json::parse(text);
  CellRequest request{.spec = spec_from_json(object.at("spec"))};
  const auto limit = object.find("host_memory_bytes");
  if (limit != object.end() && limit->is_number()) request.host_memory_bytes = *limit;
  request.watches = object.value("watch", false);
  request.tells_progress = object.value("progress", false);
  if (object.contains("ppo")) request.ppo = ppo_setup_from_json(object.at("ppo"));
  const json texts = object.value("bytes", json::object());
  for (const Field& field : fields()) {
    if (!texts.contains(field.name)) continue;
    const auto bytes = texts.at(field.name).get<Bytes>();
    field.set(request.spec, std::string(bytes.begin(), bytes.end()));
  }
  return request;
}

InheritedStreams::InheritedStreams(RunSpec spec) : spec_(std::move(spec)) {
  for (const Field& field : fields()) {
    if (!field.is_file()) continue;
    const std::optional<int> stream = named_descriptor(field.get(spec_));
    if (!stream || *stream > STDERR_FILENO) continue;  // above: inherited unchanged
    const int copy = fcntl(*stream, F_DUPFD, STDERR_FILENO + 1);
    if (copy < 0) continue;  // out of file descriptors: the start of the cell reports it
    copies_.push_back(copy);
    field.set(spec_, "/dev/fd/" + std::to_string(copy));
  }
}

InheritedStreams::~InheritedStreams() {
  for (const int copy : copies_) close(copy);
}

}  // namespace headroom
