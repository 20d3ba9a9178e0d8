#include "bench/dryrun/program.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "bench/process/virtual_card.h"
#include "files/mapped_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kProgramExample = "headroom dryrun --card h200 -- python train.py";

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_elf(std::string_view bytes) {
  return bytes.size() >= sizeof(Elf64_Ehdr) && bytes.starts_with(ELFMAG) &&
         bytes[EI_CLASS] == ELFCLASS64;
}

// The program itself names the loader, which preloads libraries.
bool has_loader(std::string_view bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const uint64_t offset = header.e_phoff + i * header.e_phentsize;
    if (offset > bytes.size() || bytes.size() - offset < sizeof(Elf64_Phdr)) return false;
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + offset, sizeof segment);
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

bool contains(std::string_view bytes, std::string_view text) {
  return memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
}

// The runtime holds the driver's file name and its error names; a program that uses the shared
// runtime holds neither. Concatenated here, otherwise this program itself would hold both.
bool holds_cuda_runtime(std::string_view bytes) {
  const std::string driver = std::string("libcuda") + ".so.1" + '\0';
  const std::string name = std::string("cudaError") + "MemoryAllocation" + '\0';
  return contains(bytes, driver) && contains(bytes, name);
}

void check_can_preload(const std::string& path, std::string_view bytes) {
  if (!is_elf(bytes)) return;
  if (!has_loader(bytes)) {
    throw UsageError("program", path,
                     "is linked statically, so nothing can be preloaded into it; link it "
                     "dynamically",
                     kProgramExample);
  }
  if (holds_cuda_runtime(bytes)) {
    throw UsageError("program", path,
                     "contains a statically linked CUDA runtime, which the virtual GPU cannot "
                     "replace; link the shared one (nvcc --cudart shared)",
                     kProgramExample);
  }
}

}  // namespace

std::string dry_run_path() {
  const std::string libraries = stand_in_libraries().front();
  const char* const path = std::getenv("PATH");
  return libraries.substr(0, libraries.rfind('/')) +
         "/programs:" + (path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
}

std::string find_program(const std::string& word) {
  if (word.find('/') != std::string::npos) {
    if (access(word.c_str(), F_OK) != 0) {
      throw std::runtime_error("cannot run " + word + ": " + std::strerror(errno));
    }
    if (!is_file(word)) throw std::runtime_error("cannot run " + word + ": it is not a file");
    if (access(word.c_str(), X_OK) != 0) {
      throw std::runtime_error("cannot run " + word + ": it is not executable (chmod +x, or " +
                               "name its interpreter: python " + word + ")");
    }
    return word;
  }
  const std::string path = dry_run_path();
  std::string_view rest = path;
  while (!word.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + word;
    if (is_file(candidate) && access(candidate.c_str(), X_OK) == 0) return candidate;
    if (folder.size() == rest.size()) break;
    rest.remove_prefix(folder.size() + 1);
  }
  const bool is_here = !word.empty() && is_file(word);
  throw std::runtime_error("cannot run '" + word + "': there is no such program in PATH" +
                           (is_here ? " (./" + word + " is in this folder)" : ""));
}

void check_can_preload(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0) {
    throw UsageError("program", path,
                     "runs with another user's rights (setuid), so nothing is preloaded into it",
                     kProgramExample);
  }
  try {
    check_can_preload(path, MappedFile(path).bytes());
  } catch (const ReadError&) {
    // Executable but not readable: the kernel decides.
  }
}

}  // namespace headroom
