// A temporary directory for a test, and functions for files in it.
//
// Also for programs that link libtorch, so without std::filesystem: Note [std::filesystem beside
// libtorch] in cmake/FindLibtorch.cmake.
#pragma once

#include <ftw.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace headroom {

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Also creates the parent folders.
inline void write_text(const std::string& path, const std::string& text) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0777);
  }
  std::ofstream(path, std::ios::binary) << text;
}

class ScratchDirectory {
 public:
  ScratchDirectory() : path_(testing::TempDir() + "/headroom.XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no scratch directory");
  }
  ~ScratchDirectory() {
    constexpr int kOpenFolders = 16;
    nftw(
        path_.c_str(),
        [](const char* path, const struct stat*, int, struct FTW*) { return std::remove(path); },
        kOpenFolders, FTW_DEPTH | FTW_PHYS);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    write_text(file(name), bytes);
    return file(name);
  }

 private:
  std::string path_;
};

// The message of the exception that `call` throws; "" and a failure if it throws none.
template <typename Exception, typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace headroom
