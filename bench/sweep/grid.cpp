// expand(): axes to RunSpecs.
#include <set>

#include "bench/sweep/sweep.h"
#include "text/json_line.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr size_t kMaxCells = 100000;  // more is a typing mistake, and would never end

const Field& axis_field(const Axis& axis, std::set<std::string>& seen) {
  const Field* field = find_field(axis.field);
  if (field == nullptr) {
    std::vector<std::string> names;
    for (const Field& known : fields()) names.push_back(known.name);
    throw UsageError("axis", axis.field,
                     "is no setting" + did_you_mean(nearest_name(axis.field, names)),
                     "context_length");
  }
  if (!seen.insert(axis.field).second) {
    throw UsageError(field->flag(), axis.values.empty() ? "" : axis.values.front(),
                     "is given twice; allowed: one list", field->flag() + " A,B");
  }
  if (axis.values.empty()) {
    throw UsageError(field->flag(), "", "has no value; allowed: one or more",
                     field->flag() + " " + field->get(RunSpec{}));
  }
  return *field;
}

}  // namespace

std::vector<RunSpec> expand(const RunSpec& base, const std::vector<Axis>& axes) {
  std::vector<RunSpec> specs = {base};
  std::set<std::string> seen_axes;
  for (const Axis& axis : axes) {
    const Field& field = axis_field(axis, seen_axes);
    if (specs.size() * axis.values.size() > kMaxCells) {
      throw UsageError(field.flag(), axis.values.front() + ",...",
                       "makes more than " + std::to_string(kMaxCells) + " cells",
                       field.flag() + " " + axis.values.front());
    }
    std::vector<RunSpec> wider;
    wider.reserve(specs.size() * axis.values.size());
    for (const RunSpec& spec : specs) {
      for (const std::string& value : axis.values) {
        wider.push_back(spec);
        field.set(wider.back(), value);
      }
    }
    specs = std::move(wider);
  }
  std::vector<RunSpec> distinct;
  std::set<std::string> seen;
  for (const RunSpec& spec : specs) {
    validate(spec);
    if (seen.insert(json_line(to_json(spec))).second) distinct.push_back(spec);
  }
  return distinct;
}

}  // namespace headroom
