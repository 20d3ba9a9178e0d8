#include "profiling/tracker/loaded_code.h"

#include <link.h>

#include <algorithm>

namespace headroom {

bool LoadedCode::holds(uint64_t address) const {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return range.begin <= address && address < range.end;
  });
}

std::vector<LoadedCode> loaded_code() {
  std::vector<LoadedCode> all;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t /*size*/, void* data) {
        auto& objects = *static_cast<std::vector<LoadedCode>*>(data);
        const bool is_program = objects.empty();  // the program comes first
        LoadedCode& code = objects.emplace_back();
        code.is_program = is_program;
        code.path = is_program ? "/proc/self/exe" : object->dlpi_name;
        code.base = object->dlpi_addr;
        for (const auto* header = object->dlpi_phdr;
             header != object->dlpi_phdr + object->dlpi_phnum; ++header) {
          if (header->p_type != PT_LOAD) continue;
          const uint64_t begin = object->dlpi_addr + header->p_vaddr;
          code.ranges.push_back({begin, begin + header->p_memsz});
        }
        return 0;
      },
      &all);
  return all;
}

}  // namespace headroom
