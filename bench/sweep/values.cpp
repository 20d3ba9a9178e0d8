#include "bench/sweep/values.h"

#include <sstream>

#include "text/quantity.h"

namespace headroom {
namespace {

// Texts hold commas themselves, so a list of them is parted by semicolons; "default" is none.
std::vector<std::string> parted(const std::string& text, char separator) {
  std::vector<std::string> values;
  std::istringstream stream(text);
  for (std::string value; std::getline(stream, value, separator);) {
    values.push_back(value == "default" ? "" : value);
  }
  return values;
}

// Whether it is an option of the value before it: "bytes=80GiB" of "virtual:h200,bytes=80GiB". A
// value with options of its own, "int8:min=1MiB", has a colon first. "keep" is of "nvme:DIR,keep".
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
