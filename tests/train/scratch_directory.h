// A directory of the test's own, gone with it.
//
// Not by std::filesystem::remove_all: libtorch.so exports one of its own, which crashes.
#pragma once

#include <ftw.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace headroom {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = testing::TempDir() + "/headroom.XXXXXX";
    path_ = mkdtemp(pattern.data());
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

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

 private:
  std::string path_;
};

// The message of the exception that `call` throws; "" and a failure when it throws none.
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
