// The files of one run's states, and which one of them is whole. No torch here.
//
// Note [Two generations of states]
// Rationale: a step changes every number. A process killed or a disk filled in the middle of a step
//   must not cost the run: gradients are gone, so half a step cannot be finished. A journal of the
//   overwritten data would need the same space as two generations, and extra writes.
// Approach: two files of the same layout. A step reads the whole one and writes the other. When
//   that is on the disk (fdatasync), the list, which names the whole file and its step, is replaced
//   (files/replace_file.h), and the files change roles. A file's first page holds the step that it
//   is written for: one ahead of the list is a torn step, which the next start reports. It removes
//   the torn file and never rewrites it: a killed process's transfers may still be in flight in the
//   kernel, and must not reach the new file.
//   The space of both files is reserved before the first step, so a full disk fails then.
//   A run with the same identity continues from the whole file; any other is refused. At its end,
//   with or without an error, a run removes its files, so that a benchmark does not leave 84 GB
//   behind. `keep` leaves the whole file and the list, also in later runs that continue from them.
//   A killed process removes nothing: its next run, or remove(), does.
//   The directory itself is locked against a second run, without a lock file.
//   The list has a checksum of every block (files/checksum.h), and one of itself: data that the
//   disk has changed is refused on reading, and never becomes a number of the run.
// Limits: twice 12 bytes of disk per number. Not every network file system has locks; a note
//   reports that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "train/offload/disk/direct_file.h"
#include "train/offload/disk/disk_layout.h"

namespace headroom {

// Throws WriteError (files/replace_file.h) if the disk or its directory is unusable, ReadError
// (files/mapped_file.h) if the files are damaged, UsageError (text/quantity.h) if they are another
// run's; one line each.
class StateDirectory {
 public:
  // Checks before anything runs that states can be kept there, and that one of these runs may
  // continue from existing states; no identities = no run continues. Throws the same.
  static void check(const std::string& directory, const std::vector<std::string>& identities = {});
  // Removes a killed run's files, except states to be kept. Throws WriteError if a run is using
  // them.
  static void remove(const std::string& directory);

  StateDirectory(const std::string& directory, const std::string& identity,
                 const DiskLayout& layout, bool keep);  // must outlive this
  ~StateDirectory();
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  // The step of the whole file; -1 if there is none.
  int64_t step() const { return step_; }
  const std::vector<std::string>& notes() const { return notes_; }

  struct File {
    std::string path;
    OwnedFile descriptor;
    std::vector<uint64_t> sums;  // by block
  };
  const File& whole() const { return files_[whole_]; }
  const File& next() const { return files_[1 - whole_]; }

  void begin(int64_t step);   // step's states are written to next() from here on
  void commit(int64_t step);  // all are written: next() becomes whole()

  // Block number `block` of the layout, in memory with its padding.
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
  size_t whole_ = 1;  // the first step goes to files_[0]
  int64_t step_ = -1;
  std::vector<std::string> notes_;
};

}  // namespace headroom
