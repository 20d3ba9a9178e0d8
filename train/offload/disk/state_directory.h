// The files in which the states of one run lie, and which of them is whole. No torch here.
//
// Note [Two generations of states]
// Rationale: a step changes every number. A process that is killed, or a disk that fills, in the
//   middle of one must not cost the run: gradients are gone, so half a step cannot be finished.
//   Whole steps need room for two generations anyway: a journal of what is overwritten would need
//   the same room and be written besides.
// Approach: two files of the same layout. A step reads the whole one and writes the other; when
//   that is on the disk (fdatasync), the list is replaced (files/replace_file.h), which names the
//   whole file and its step, and they change places. A file's first page says which step it is
//   being written for: one ahead of the list is a torn step, found at the next start and said.
//   The torn file is removed there, never written again: of a killed process transfers may still
//   be under way in the kernel, and must not land in the next run's file.
//   The room of both files is reserved before the first step, so a full disk shows then.
//   A run with the same identity goes on from the whole file; any other is refused. At its end,
//   with an error or without, a run removes its files, so that a benchmark does not leave 84 GB
//   behind; `keep` leaves the whole file and the list, and what was kept once is kept by the runs
//   that go on from it too. A killed process can remove nothing: its next run, or remove(), does.
//   The directory itself is locked against a second run: no lock file is left behind.
//   The list has a sum of every block (files/checksum.h), and one of itself: what the disk has
//   changed is refused where it is read, and never becomes a number of the run.
// Limits: twice 12 bytes a number of disk. Not every network file system knows locks; that is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "train/offload/disk/direct_file.h"
#include "train/offload/disk/disk_layout.h"

namespace headroom {

// Throws WriteError (files/replace_file.h) where the disk or its directory will not do, ReadError
// (files/mapped_file.h) where what lies there is damaged, UsageError (text/quantity.h) where it is
// another run's; one line each.
class StateDirectory {
 public:
  // Finds out before anything runs whether states could be kept there, and whether one of these
  // runs may go on from what lies there; no identities = nobody goes on. Throws the same.
  static void check(const std::string& directory, const std::vector<std::string>& identities = {});
  // What a killed run left there, but for states that are to be kept. Throws WriteError where a run
  // is at work there.
  static void remove(const std::string& directory);

  StateDirectory(const std::string& directory, const std::string& identity,
                 const DiskLayout& layout, bool keep);  // the layout outlives it
  ~StateDirectory();
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  // The step of the whole file; -1 before there is one.
  int64_t step() const { return step_; }
  const std::vector<std::string>& notes() const { return notes_; }

  struct File {
    std::string path;
    OwnedFile descriptor;
    std::vector<uint64_t> sums;  // of each block
  };
  const File& whole() const { return files_[whole_]; }
  const File& next() const { return files_[1 - whole_]; }

  void begin(int64_t step);   // its states are written to next() from here on
  void commit(int64_t step);  // they are all written: next() is the whole one now

  // Of the block at that place among all of the layout, as it lies in memory with its padding.
  void note_written(size_t block, const std::byte* memory);      // to next()
  void check_read(size_t block, const std::byte* memory) const;  // of whole(); throws ReadError

 private:
  void go_on_from_list();
  void open_whole();
  void make(File& file);
  void reserve(const File& file);
  OwnedFile open_file(const std::string& path, int flags);
  void write_list(int64_t step, size_t whole) const;
  void remove_torn();
  int64_t step_in(const File& file) const;

  std::string directory_;
  std::string list_;
  std::string identity_;
  const DiskLayout& layout_;
  uint64_t layout_hash_;
  int64_t file_bytes_;
  bool keep_;
  OwnedFile lock_;
  File files_[2];
  size_t whole_ = 1;  // the first step is written to files_[0]
  int64_t step_ = -1;
  std::vector<std::string> notes_;
};

}  // namespace headroom
