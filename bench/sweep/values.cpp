#include "bench/sweep/values.h"

#include <sstream>

#include "text/quantity.h"

namespace headroom {
namespace {

// Texts may contain commas, so their lists are separated by semicolons; "default" is "".
std::vector<std::string> parted(const std::string& text, char separator) {
  std::vector<std::string> values;
  std::istringstream stream(text);
  for (std::string value; std::getline(stream, value, separator);) {
    values.push_back(value == "default" ? "" : value);
  }
  return values;
}

// True for an option of the previous value: "bytes=80GiB" in "virtual:h200,bytes=80GiB", "keep" in
// "nvme:DIR,keep". In a value with its own options, "int8:min=1MiB", a colon comes first.
bool is_option(const std::string& value) {
  return value == "keep" || value.find('=') < value.find(':');
}

}  // namespace

std::vector<std::string> values_of(const Field& field, const std::string& text) {
  if (field.separator == '\0') return {text};
  if (field.separator != ',') {
    return text.find(field.separator) == std::string::npos ? std::vector<std::string>{text}
                                                           : parted(text, field.separator);
  }
  std::vector<std::string> values = parse_list(field.flag(), text, field.example());
  for (size_t i = 1; i < values.size();) {
    if (is_option(values[i])) {
      values[i - 1] += "," + values[i];
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return values;
}

}  // namespace headroom
