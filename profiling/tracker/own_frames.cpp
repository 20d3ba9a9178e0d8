#include "profiling/tracker/own_frames.h"

#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace headroom {
namespace {

struct LoadedProgram {
  struct Range {
    uint64_t begin = 0;  // addresses in this process
    uint64_t end = 0;    // one past the last
  };
  uint64_t base = 0;  // an address here less the address in the file
  std::vector<Range> ranges;
};

LoadedProgram find_program() {
  LoadedProgram program;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t /*size*/, void* data) {
        auto* result = static_cast<LoadedProgram*>(data);
        result->base = object->dlpi_addr;
        for (const auto* header = object->dlpi_phdr;
             header != object->dlpi_phdr + object->dlpi_phnum; ++header) {
          if (header->p_type != PT_LOAD) continue;
          const uint64_t begin = object->dlpi_addr + header->p_vaddr;
          result->ranges.push_back({begin, begin + header->p_memsz});
        }
        return 1;  // the program itself is the first object; no more of them
      },
      &program);
  return program;
}

// "file.cpp:12 (discriminator 3)" to a frame.
Frame frame_of(const std::string& function, const std::string& place) {
  const size_t colon = place.rfind(':', place.find(" (discriminator"));
  Frame frame{.name = function, .filename = place.substr(0, colon)};
  if (colon != std::string::npos) frame.line = std::atoll(place.c_str() + colon + 1);
  return frame;
}

// A temporary file of addresses, one a line, for addr2line's command line.
class AddressFile {
 public:
  explicit AddressFile(const std::vector<uint64_t>& offsets) {
    const int file = mkstemp(path_.data());
    if (file < 0) return;
    std::string text;
    for (const uint64_t offset : offsets) {
      std::array<char, 24> line{};
      // One byte back: the counter is where the call returns to, possibly on the next line.
      std::snprintf(line.data(), line.size(), "0x%llx\n",
                    static_cast<unsigned long long>(offset - 1));
      text += line.data();
    }
    is_whole_ = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(file);
  }
  ~AddressFile() { unlink(path_.data()); }
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

  bool is_whole() const { return is_whole_; }
  const char* path() const { return path_.data(); }

 private:
  std::array<char, 32> path_ = {"/tmp/headroom-stacks.XXXXXX"};
  bool is_whole_ = false;
};

// addr2line -a -i: the address, then two lines, function and place, for each function of the chain.
std::vector<std::vector<Frame>> read_chains(FILE* output) {
  std::vector<std::vector<Frame>> chains;
  std::string function;
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, output) > 0) {
    std::string text = line;
    text.erase(text.find_last_not_of('\n') + 1);
    if (text.starts_with("0x")) {
      chains.emplace_back();
      function.clear();
    } else if (function.empty()) {
      function = text;
    } else if (!chains.empty()) {
      chains.back().push_back(frame_of(function, text));
      function.clear();
    }
  }
  std::free(line);
  return chains;
}

}  // namespace

std::optional<uint64_t> offset_in_program(const void* counter) {
  static const LoadedProgram program = find_program();
  const auto address = reinterpret_cast<uint64_t>(counter);
  for (const auto& range : program.ranges) {
    if (range.begin <= address && address < range.end) return address - program.base;
  }
  return std::nullopt;
}

std::optional<std::vector<std::vector<Frame>>> frames_in_program(
    const std::vector<uint64_t>& offsets) {
  const AddressFile addresses(offsets);
  if (!addresses.is_whole()) return std::nullopt;
  const std::string command = "addr2line -a -i -f -C -e /proc/" + std::to_string(getpid()) +
                              "/exe @" + addresses.path() + " 2>/dev/null";
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) return std::nullopt;
  std::vector<std::vector<Frame>> chains = read_chains(output);
  pclose(output);
  if (chains.size() != offsets.size()) return std::nullopt;
  return chains;
}

}  // namespace headroom
