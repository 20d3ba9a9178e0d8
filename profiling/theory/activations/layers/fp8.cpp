// Inputs that FP8 products save. Read beside train/techniques/fp8_linear.cpp.
#include "profiling/theory/row_builder.h"

namespace headroom {

void add_fp8_input(RowBuilder& sheet, const std::string& name, const std::string& width,
                   const std::vector<std::string>& readers) {
  const std::string source = "train/techniques/fp8_linear.cpp Fp8Product::forward";
  const auto saved_by = [&](const std::string& what) {
    std::vector<std::string> nodes;
    for (const std::string& reader : readers) nodes.push_back("Fp8Product." + what + reader);
    return nodes;
  };
  const auto storages = static_cast<int64_t>(readers.size());
  sheet.add({.name = name + "_codes",
             .shape = width + " B*S",
             .dtype = DType::kFp8,
             .source = source,
             .saved_by = saved_by("codes of "),
             .condition = "e4m3, transposed; one cast for each projection that reads it",
             .storages = storages});
  sheet.add({.name = name + "_scale",
             .shape = "",
             .source = source,
             .saved_by = saved_by("scale of "),
             .condition = "of the whole tensor",
             .storages = storages});
}

}  // namespace headroom
