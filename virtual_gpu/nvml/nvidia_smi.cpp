// nvidia-smi, as far as programs read it: the list of the cards (-L) and the queries of their
// properties as CSV. Every answer is the stand-in's NVML; everything else is refused.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_gpu/nvml/types.h"

using namespace virtual_gpu::nvml;

extern "C" {
Result nvmlInit_v2();
const char* nvmlErrorString(int);
Result nvmlSystemGetDriverVersion(char*, unsigned);
Result nvmlDeviceGetCount_v2(unsigned*);
Result nvmlDeviceGetHandleByIndex_v2(unsigned, DeviceHandle*);
Result nvmlDeviceGetName(DeviceHandle, char*, unsigned);
Result nvmlDeviceGetUUID(DeviceHandle, char*, unsigned);
Result nvmlDeviceGetPciInfo_v3(DeviceHandle, PciInfo*);
Result nvmlDeviceGetMemoryInfo_v2(DeviceHandle, MemoryInfoV2*);
Result nvmlDeviceGetCudaComputeCapability(DeviceHandle, int*, int*);
Result nvmlDeviceGetMaxClockInfo(DeviceHandle, int, unsigned*);
}

namespace {

// The real program's exit codes.
constexpr int kBadArgument = 2;
constexpr int kNoDriver = 9;

constexpr const char* kAllowed =
    "allowed: -L, or --query-gpu=FIELDS --format=csv[,noheader][,nounits], with -i INDEX or UUID";

class BadArgument : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct Options {
  bool lists_cards = false;
  std::vector<std::string> fields;
  bool is_csv = false;
  bool has_header = true;
  bool has_units = true;
  std::vector<std::string> cards;  // indices, UUIDs or bus addresses; empty = all
};

// One field of one card; "" is a field that the stand-in does not have. unit: of its header.
struct Field {
  const char* unit = "";
  std::string (*text)(DeviceHandle) = nullptr;
};

std::string name_of(DeviceHandle card) {
  char text[96] = "";
  nvmlDeviceGetName(card, text, sizeof text);
  return text;
}

std::string uuid_of(DeviceHandle card) {
  char text[96] = "";
  nvmlDeviceGetUUID(card, text, sizeof text);
  return text;
}

std::string bus_of(DeviceHandle card) {
  PciInfo info{};
  nvmlDeviceGetPciInfo_v3(card, &info);
  return info.bus_id;
}

std::string driver_of(DeviceHandle) {
  char text[96] = "";
  nvmlSystemGetDriverVersion(text, sizeof text);
  return text;
}

std::string count_of(DeviceHandle) {
  unsigned count = 0;
  nvmlDeviceGetCount_v2(&count);
  return std::to_string(count);
}

std::string capability_of(DeviceHandle card) {
  int major = 0;
  int minor = 0;
  nvmlDeviceGetCudaComputeCapability(card, &major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

template <Clock kClock>
std::string highest_clock_of(DeviceHandle card) {
  unsigned megahertz = 0;
  nvmlDeviceGetMaxClockInfo(card, kClock, &megahertz);
  return std::to_string(megahertz);
}

template <uint64_t MemoryInfoV2::*kPart>
std::string mebibytes_of(DeviceHandle card) {
  MemoryInfoV2 info{};
  nvmlDeviceGetMemoryInfo_v2(card, &info);
  return std::to_string(info.*kPart / (1024 * 1024));
}

const std::map<std::string, Field, std::less<>>& fields() {
  static const std::map<std::string, Field, std::less<>> kFields = [] {
    std::map<std::string, Field, std::less<>> all = {
        {"name", {"", name_of}},
        {"uuid", {"", uuid_of}},
        {"index", {"", [](DeviceHandle card) { return std::to_string(card->card); }}},
        {"count", {"", count_of}},
        {"driver_version", {"", driver_of}},
        {"compute_cap", {"", capability_of}},
        {"pci.bus_id", {"", bus_of}},
        {"memory.total", {"MiB", mebibytes_of<&MemoryInfoV2::total>}},
        {"memory.free", {"MiB", mebibytes_of<&MemoryInfoV2::free>}},
        {"memory.used", {"MiB", mebibytes_of<&MemoryInfoV2::used>}},
        {"memory.reserved", {"MiB", mebibytes_of<&MemoryInfoV2::reserved>}},
        {"utilization.gpu", {"%", nullptr}},
        {"utilization.memory", {"%", nullptr}},
        {"temperature.gpu", {}},
        {"power.draw", {"W", nullptr}},
        {"power.limit", {"W", nullptr}},
        {"clocks.max.sm", {"MHz", highest_clock_of<kSmClock>}},
        {"clocks.max.mem", {"MHz", highest_clock_of<kMemoryClock>}},
        {"clocks.sm", {"MHz", nullptr}},
        {"clocks.mem", {"MHz", nullptr}},
    };
    for (const auto& [alias, name] :
         {std::pair{"gpu_name", "name"}, {"gpu_uuid", "uuid"}, {"gpu_bus_id", "pci.bus_id"}}) {
      all[alias] = all[name];
    }
    return all;
  }();
  return kFields;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

void set_format(Options& options, const std::string& value) {
  for (const std::string& word : split(value)) {
    if (word == "csv") {
      options.is_csv = true;
    } else if (word == "noheader") {
      options.has_header = false;
    } else if (word == "nounits") {
      options.has_units = false;
    } else {
      throw BadArgument("--format " + value + ": '" + word + "' is unknown");
    }
  }
}

void set_fields(Options& options, const std::string& value) {
  options.fields = split(value);
  for (const std::string& field : options.fields) {
    if (fields().contains(field)) continue;
    std::string known;
    for (const auto& [name, of] : fields()) known += (known.empty() ? "" : ", ") + name;
    throw BadArgument("Field \"" + field + "\" is not a valid field to query on a virtual card; " +
                      "known: " + known);
  }
}

Options parse(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-L" || word == "--list-gpus") {
      options.lists_cards = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const auto set = flag == "--query-gpu" ? set_fields
                     : flag == "--format"  ? set_format
                     : flag == "-i" || flag == "--id"
                         ? +[](Options& to, const std::string& value) { to.cards = split(value); }
                         : nullptr;
    if (set == nullptr) throw BadArgument("'" + word + "' is not answered on a virtual card");
    if (equals == std::string::npos && i + 1 == words.size()) {
      throw BadArgument(flag + " needs a value");
    }
    set(options, equals == std::string::npos ? words[++i] : word.substr(equals + 1));
  }
  if (options.lists_cards) return options;
  if (options.fields.empty()) throw BadArgument("the table of all cards is not drawn here");
  if (!options.is_csv) throw BadArgument("--format=csv is needed with --query-gpu");
  return options;
}

std::vector<DeviceHandle> chosen_cards(const Options& options) {
  unsigned count = 0;
  nvmlDeviceGetCount_v2(&count);
  std::vector<DeviceHandle> all(count);
  for (unsigned i = 0; i < count; ++i) nvmlDeviceGetHandleByIndex_v2(i, &all[i]);
  if (options.cards.empty()) return all;
  std::vector<DeviceHandle> chosen;
  for (const std::string& wanted : options.cards) {
    const size_t before = chosen.size();
    for (const DeviceHandle card : all) {
      const std::string index = std::to_string(card->card);
      if (wanted == index || wanted == uuid_of(card) || wanted == bus_of(card)) {
        chosen.push_back(card);
      }
    }
    if (chosen.size() == before) throw BadArgument("No devices were found: -i " + wanted);
  }
  return chosen;
}

std::string line_of(const Options& options, DeviceHandle card) {
  std::string line;
  for (const std::string& name : options.fields) {
    const Field& field = fields().at(name);
    if (!line.empty()) line += ", ";
    if (card == nullptr) {  // the header
      line += name;
      if (options.has_units && *field.unit != '\0') line += std::string(" [") + field.unit + "]";
    } else if (field.text == nullptr) {
      line += "[N/A]";
    } else {
      line += field.text(card);
      if (options.has_units && *field.unit != '\0') line += std::string(" ") + field.unit;
    }
  }
  return line;
}

int answer(const Options& options) {
  const std::vector<DeviceHandle> cards = chosen_cards(options);
  if (!options.lists_cards && options.has_header) {
    std::printf("%s\n", line_of(options, nullptr).c_str());
  }
  for (const DeviceHandle card : cards) {
    if (options.lists_cards) {
      std::printf("GPU %d: %s (UUID: %s)\n", card->card, name_of(card).c_str(),
                  uuid_of(card).c_str());
    } else {
      std::printf("%s\n", line_of(options, card).c_str());
    }
  }
  return std::fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse({argv + 1, argv + argc});
    if (const Result result = nvmlInit_v2(); result != kSuccess) {
      std::fprintf(stderr, "nvidia-smi: there is no virtual card: %s\n", nvmlErrorString(result));
      return kNoDriver;
    }
    return answer(options);
  } catch (const BadArgument& error) {
    std::fprintf(stderr, "nvidia-smi: %s; %s\n", error.what(), kAllowed);
    return kBadArgument;
  }
}
