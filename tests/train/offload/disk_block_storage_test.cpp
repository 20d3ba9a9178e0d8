// Blocks' parameters in a file: stored values come back, whatever transfers are in progress. In a
// step: offloaded_parameters_test.cpp; disk faults: tests/cli/disk/disk_weights_test.py.
#include "train/offload/blocks/disk_block_storage.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "files/mapped_file.h"
#include "files/replace_file.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

using torch::Tensor;
using Tensors = BlockStorage::Tensors;

constexpr int64_t kSizes[] = {10'000, 4096, 3, 70'001};
constexpr int64_t kOnPages = (3 + 1 + 1 + 18) * 4096;

// A block's values at one time: no two parameters are equal.
Tensors numbers(int64_t block, int64_t time = 0) {
  Tensors all;
  for (const int64_t size : kSizes) {
    all.push_back((torch::arange(size) * (block + 3) + 7 * time + size).to(torch::kUInt8));
  }
  return all;
}

Tensors room() {
  Tensors all;
  for (const int64_t size : kSizes) all.push_back(torch::zeros({size}, torch::kUInt8));
  return all;
}

void expect_equal(const Tensors& one, const Tensors& other) {
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(other[i])) << i;
}

class HomesOnDiskTest : public testing::Test {
 protected:
  // With transfers of a page or two, so that a parameter takes many.
  std::unique_ptr<DiskBlockStorage> of_blocks(int64_t blocks, const std::string& directory) {
    auto storage = std::make_unique<DiskBlockStorage>(
        DiskBlockStorageOptions{.directory = directory, .blocks = blocks, .transfer_bytes = 8192},
        std::make_shared<Counted>());
    for (int64_t block = 0; block < blocks; ++block) storage->take(numbers(block));
    return storage;
  }
  std::unique_ptr<DiskBlockStorage> of_blocks(int64_t blocks) {
    return of_blocks(blocks, folder_.path());
  }

  // A copy is done at once.
  struct Counted final : CopyQueue {
    struct Done final : Copy {
      void wait() override {}
      void wait_on_host() override {}
    };
    std::unique_ptr<Copy> copy(std::shared_ptr<HostArena::Buffer> buffer, const Tensor& vector,
                               Direction direction, const Mark*) override {
      if (direction == Direction::kToHost) {
        scatter(vector, *buffer);
      } else {
        gather(*buffer, vector);
      }
      return std::make_unique<Done>();
    }
  };

  ScratchDirectory folder_;
};

TEST_F(HomesOnDiskTest, WhatWasPutThereComesBackWheneverItIsAskedFor) {
  const auto storage = of_blocks(7);
  for (const int64_t block : {0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 6, 0, 3}) {
    const Tensors to = room();
    storage->fetch(block, to);
    storage->wait(block);
    storage->leave(block);
    expect_equal(to, numbers(block));
  }
}

TEST_F(HomesOnDiskTest, ManyMayBeAskedForBeforeAnyIsWaitedFor) {
  const auto storage = of_blocks(7);
  std::vector<Tensors> to;
  for (int64_t block = 0; block < 7; ++block) storage->fetch(block, to.emplace_back(room()));
  for (int64_t block = 6; block >= 0; --block) {
    storage->wait(block);
    expect_equal(to[static_cast<size_t>(block)], numbers(block));
  }
}

TEST_F(HomesOnDiskTest, ABlockThatIsLeftBeforeItCameComesTheNextTime) {
  const auto storage = of_blocks(5);
  for (int64_t block = 0; block < 5; ++block) {
    storage->fetch(block, room());
    storage->leave(block);
  }
  const Tensors to = room();
  storage->fetch(2, to);
  storage->wait(2);
  expect_equal(to, numbers(2));
}

TEST_F(HomesOnDiskTest, StoresInAnyOrderAreReadByWhatIsAskedForAfterThem) {
  const auto storage = of_blocks(6);
  const auto arena = HostArena::make(/*pinned=*/false, /*limit_bytes=*/0);
  for (int64_t time = 1; time < 4; ++time) {
    for (size_t index = 0; index < std::size(kSizes); ++index) {
      for (int64_t block = 5; block >= 0; --block) {
        const auto buffer = arena->take(kSizes[index]);
        scatter(numbers(block, time)[index], *buffer);
        storage->store({block, index}, *buffer);
      }
    }
    for (int64_t block = 0; block < 6; ++block) {
      const Tensors to = room();
      storage->fetch(block, to);
      storage->wait(block);
      expect_equal(to, numbers(block, time));
    }
    storage->finish_stores();
  }
}

TEST_F(HomesOnDiskTest, TheHostReadsAndWritesSingleParameters) {
  const auto storage = of_blocks(4);
  storage->write({2, 3}, numbers(9)[3]);
  storage->write({2, 3}, numbers(8)[3]);
  Tensors to = room();
  for (size_t i = 0; i < to.size(); ++i) storage->read({2, i}, to[i]);
  Tensors expected = numbers(2);
  expected[3] = numbers(8)[3];
  expect_equal(to, expected);
}

TEST_F(HomesOnDiskTest, BytesAreOfWholePagesAndOfNoFileForACardThatHasNoNumbers) {
  for (const std::string& directory : {folder_.path(), std::string()}) {
    const auto storage = of_blocks(5, directory);
    EXPECT_EQ(storage->disk().files, 5 * kOnPages);
    EXPECT_EQ(storage->disk().written, 5 * kOnPages);
    storage->fetch(1, room());
    storage->wait(1);
    storage->store({1, 3}, *HostArena::make(false, 0)->take(kSizes[3]));
    storage->finish_stores();
    EXPECT_EQ(storage->disk().read, kOnPages);
    EXPECT_EQ(storage->disk().written, 5 * kOnPages + 18 * 4096);
    EXPECT_EQ(storage->slabs().size(), 1);
  }
}

TEST_F(HomesOnDiskTest, TheFileHasNoNameWhileItIsThere) {
  const auto storage = of_blocks(3);
  DIR* const directory = opendir(folder_.path().c_str());
  while (const dirent* entry = readdir(directory)) {
    EXPECT_THAT(entry->d_name, testing::AnyOf(testing::StrEq("."), testing::StrEq("..")));
  }
  closedir(directory);
}

// The file descriptor of the file without a name in this directory.
int nameless_in(const std::string& directory) {
  const std::unique_ptr<char, decltype(&free)> whole(realpath(directory.c_str(), nullptr), &free);
  DIR* const open = opendir("/proc/self/fd");
  int found = -1;
  while (const dirent* entry = readdir(open)) {
    const std::string link = std::string("/proc/self/fd/") + entry->d_name;
    char target[4096] = {};
    if (readlink(link.c_str(), target, sizeof target - 1) < 0) continue;
    if (std::string(target).starts_with(std::string(whole.get()) + "/"))
      found = std::stoi(entry->d_name);
  }
  closedir(open);
  return found;
}

TEST_F(HomesOnDiskTest, ABitThatTheDiskHasChangedIsRefusedWithItsBlock) {
  const auto storage = of_blocks(5);
  storage->finish_stores();
  // In the second parameter of the fourth block: not through the descriptor of `storage`, which may
  // require whole pages.
  const std::string path = "/proc/self/fd/" + std::to_string(nameless_in(folder_.path()));
  const int file = ::open(path.c_str(), O_RDWR);
  const off_t place = 3 * kOnPages + 3 * 4096 + 17;
  char byte = 0;
  ASSERT_EQ(pread(file, &byte, 1, place), 1);
  byte = static_cast<char>(byte ^ 4);
  ASSERT_EQ(pwrite(file, &byte, 1, place), 1);
  ASSERT_EQ(fsync(file), 0);
  close(file);
  Tensors whole = room();
  storage->fetch(2, whole);
  storage->wait(2);
  expect_equal(whole, numbers(2));
  const auto fetch = [&] {
    storage->fetch(3, whole);
    storage->wait(3);
  };
  const std::string bytes = std::to_string(3 * kOnPages + 3 * 4096) + " to " +
                            std::to_string(3 * kOnPages + 4 * 4096 - 1);
  EXPECT_THAT(message_of<ReadError>(fetch),
              testing::HasSubstr("block 4 of 5 (bytes " + bytes + ") is damaged"));
  EXPECT_THAT(message_of<ReadError>(fetch), testing::HasSubstr("is damaged"))
      << "and nothing of this disk is used after it";
}

TEST_F(HomesOnDiskTest, ADirectoryThatIsNotThereIsOneLine) {
  const std::string missing = folder_.file("none");
  const std::string line = "cannot write " + missing + ": No such file or directory";
  EXPECT_EQ(message_of<WriteError>([&] { of_blocks(2, missing); }), line);
  EXPECT_EQ(message_of<WriteError>([&] { ScratchFile::check(missing); }), line);
  EXPECT_THAT(message_of<WriteError>([&] { ScratchFile::check(folder_.write("file", "")); }),
              testing::HasSubstr("Not a directory"));
  EXPECT_NO_THROW(ScratchFile::check(folder_.path()));
}

TEST_F(HomesOnDiskTest, MoreThanTheDiskHasIsOneLine) {
  constexpr int64_t kTooMuch = int64_t{1} << 55;
  EXPECT_THAT(message_of<WriteError>([&] { ScratchFile(folder_.path(), "weights", kTooMuch); }),
              testing::AllOf(testing::HasSubstr("cannot write " + folder_.path() + ": "),
                             testing::HasSubstr("; the weights take a file of ")));
}

}  // namespace
}  // namespace headroom
