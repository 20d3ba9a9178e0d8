// Note [Asked without a handle]
// Rationale: the workspace size of cuSOLVER or of a recurrent network of cuDNN is the library's own
//   answer, and a table of our own would soon be out of date. Their handles cannot be made: the
//   CUDA runtime inside them queries undocumented driver tables.
// Approach: the size functions get a block of memory in place of the handle, all of whose words
//   point into the block. For cuSPARSE it begins with the first word of all its objects, which it
//   checks. Only functions whose answer was seen not to depend on the block are called this way.
//   cuSOLVER's sizes for batches of small Hermitian matrices are those of a real card, figure for
//   figure (cupy#7261); cuDNN's reserve space is the published one for an LSTM and a GRU
//   (pytorch#2895) plus 256 bytes. cuSPARSE's have not been compared yet.
// Limits: cuFFT's plans need a device: Note [Work areas of cuFFT]; so does cuSOLVER's
//   eigendecomposition of general matrices. Functions that compute are never called this way.
#include "virtual_gpu/real_library/real_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace virtual_gpu {

namespace {

struct Files {
  std::string start;  // "/libcudnn.so."
  std::vector<std::string> paths;
};

int note_path(dl_phdr_info* library, size_t, void* data) {
  auto* files = static_cast<Files*>(data);
  const std::string_view path = library->dlpi_name;
  if (path.find(files->start) != std::string_view::npos) files->paths.emplace_back(path);
  return 0;
}

// By its name without the version, which is another one in each CUDA.
std::string start_of(const char* library) { return std::string("/") + library + ".so."; }

std::vector<std::string> loaded_files(const char* library) {
  Files files{.start = start_of(library), .paths = {}};
  dl_iterate_phdr(note_path, &files);
  return files.paths;
}

bool is_ours(const void* function) {
  static const char here = 0;
  Dl_info theirs;
  Dl_info ours;
  return dladdr(function, &theirs) != 0 && dladdr(&here, &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

void* function_in(const std::string& path, int how, const char* name) {
  void* opened = dlopen(path.c_str(), how);
  void* function = opened == nullptr ? nullptr : dlsym(opened, name);
  return function == nullptr || is_ours(function) ? nullptr : function;
}

}  // namespace

// A library's caller was linked with it or opened it: it is in the process already.
void* real_function(const char* library, const char* name) {
  for (const std::string& path : loaded_files(library)) {
    if (void* function = function_in(path, RTLD_NOW | RTLD_NOLOAD, name)) return function;
  }
  return nullptr;
}

// Lazily: functions that the process has in another form are not looked up.
void* real_function_beside(const char* loaded, const char* library, const char* name) {
  const std::string start = start_of(loaded);
  for (std::string path : loaded_files(loaded)) {
    path.replace(path.find(start), start.size(), start_of(library));
    if (void* function = function_in(path, RTLD_LAZY | RTLD_LOCAL, name)) return function;
  }
  return nullptr;
}

namespace {

constexpr size_t kBlankWords = 32768;

// A pointer into a new block of words, all of which point into it.
void** new_blank() {
  auto* words = new std::array<void*, kBlankWords>();
  std::fill(words->begin(), words->end(), &(*words)[kBlankWords / 2]);
  return &(*words)[kBlankWords / 4];
}

}  // namespace

void* blank_handle() {
  static void** const blank = new_blank();
  return blank;
}

void* blank_handle_that_begins(uintptr_t word) {
  void** blank = new_blank();
  *blank = reinterpret_cast<void*>(word);
  return blank;
}

}  // namespace virtual_gpu
