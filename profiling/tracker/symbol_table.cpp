#include "profiling/tracker/symbol_table.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>

#include "files/mapped_file.h"

namespace headroom {
namespace {

// `count` structs of a file at `offset`; empty if the file is too short.
template <typename Struct>
std::vector<Struct> structs_at(std::string_view file, uint64_t offset, uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(Struct)) return {};
  std::vector<Struct> structs(count);
  std::memcpy(structs.data(), file.data() + offset, count * sizeof(Struct));
  return structs;
}

struct SymbolTable {
  std::vector<Elf64_Sym> symbols;
  std::string_view names;

  const char* name_of(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= names.size()) return "";
    const std::string_view rest = names.substr(symbol.st_name);
    return rest.find('\0') == std::string_view::npos ? "" : rest.data();
  }
};

// The whole table if there is one, otherwise that of exported symbols.
std::optional<SymbolTable> symbol_table_of(std::string_view file) {
  const auto headers = structs_at<Elf64_Ehdr>(file, 0, 1);
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_ident[EI_CLASS] != ELFCLASS64) {
    return std::nullopt;
  }
  const auto sections = structs_at<Elf64_Shdr>(file, headers[0].e_shoff, headers[0].e_shnum);
  for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type != type || section.sh_link >= sections.size()) continue;
      const Elf64_Shdr& names = sections[section.sh_link];
      if (names.sh_offset > file.size()) continue;
      return SymbolTable{
          structs_at<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym)),
          file.substr(names.sh_offset, names.sh_size)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

std::vector<std::string> functions_at(const std::string& path,
                                      const std::vector<uint64_t>& addresses) {
  std::vector<std::string> functions(addresses.size());
  std::optional<MappedFile> file;
  try {
    file.emplace(path);
  } catch (const ReadError&) {
    return functions;  // the kernel's own code is in no file
  }
  const auto table = symbol_table_of(file->bytes());
  if (!table) return functions;

  std::vector<size_t> order(addresses.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return addresses[a] < addresses[b]; });
  for (const Elf64_Sym& symbol : table->symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    auto at = std::lower_bound(order.begin(), order.end(), symbol.st_value,
                               [&](size_t i, uint64_t value) { return addresses[i] < value; });
    for (; at != order.end() && addresses[*at] - symbol.st_value < symbol.st_size; ++at) {
      if (functions[*at].empty()) functions[*at] = demangled(table->name_of(symbol));
    }
  }
  return functions;
}

}  // namespace headroom
