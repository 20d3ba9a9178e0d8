// Everything this process has of virtual cards. Made at the first CUDA call from the environment:
//   HEADROOM_VIRTUAL_CARD    the card, as virtual_gpu/device/card.h reads it
//   HEADROOM_VIRTUAL_COUNT   how many of it; default 1
//   HEADROOM_VIRTUAL_REPORT  prefix of the file to write when the process ends: <prefix>.<pid>.json
//   HEADROOM_VIRTUAL_READS   expected: reads of values are not said (a loop of them is)
//   HEADROOM_VIRTUAL_EVENTS  done or late: when work is, Note [Late events]; default done
//   CUDA_VISIBLE_DEVICES     as the driver reads it: ordinals, or UUIDs of virtual cards
//                            (`headroom` takes the shell's away: there it means real cards)
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "virtual_gpu/device/contents.h"
#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/host_memory.h"
#include "virtual_gpu/device/mapping.h"
#include "virtual_gpu/device/stream.h"

// Writes what libtorch's allocator knows to <stem>.torch.json, where nobody has yet; defined by the
// observer where one is preloaded (bench/dryrun/observer.cpp), null elsewhere.
extern "C" __attribute__((weak)) void headroom_observe(const char* stem);

// Called once in a process, at its first use of CUDA, with where its reports go ("" = nowhere);
// defined in virtual_gpu/report/ending_signal.cpp, null in tests of the device alone.
extern "C" __attribute__((weak)) void virtual_gpu_machine_made(const char* stem);

namespace virtual_gpu {

class Machine {
 public:
  static constexpr int kMostDevices = 64;

  // The process's own. Never destroyed: libraries free memory in their exit handlers. After a bad
  // description it has no devices, and one line on stderr said why.
  static Machine& get();
  // Whether get() was called by this very process. Not so in its children: of fork they have a copy
  // of the machine, and of vfork, until they exec, the machine itself.
  static bool is_of_this_process();
  // True in a process that was forked from one that had used CUDA: every call fails there, as on a
  // card.
  static bool forked();

  // All of the machine's, those hidden from this process too.
  int cards_of_host() const { return cards_of_host_; }
  int count() const { return static_cast<int>(devices_.size()); }
  Device& device(int ordinal) { return *devices_[static_cast<size_t>(ordinal)]; }
  // As get_device_properties() shows it; of the card, however it is numbered here.
  std::array<char, 16> uuid(int ordinal) const;
  // Of the calling thread.
  static int current();
  static void set_current(int ordinal);
  Device& here() { return device(current()); }

  // nullptr and the two special handles are the current device's default stream.
  Stream& stream(const void* handle);

  // Whose memory this is; nullptr when it is no device memory.
  Device* owner(uint64_t address);

  // Where the process's reports go, without ".json": "<prefix>.<pid>"; for the second program that
  // used CUDA in one process (exec) "<prefix>.<pid>.2" and so on. "" when nobody wants them.
  const std::string& report_stem() const { return report_stem_; }

  Streams streams;
  HostMemory host;
  Contents contents;
  // Guards `mappings`; a Device and Streams have locks of their own.
  std::mutex mappings_mutex;
  Mappings mappings;

 private:
  Machine();
  void read_environment();
  Contents::Extent extent_of(uint64_t address);
  const std::string report_stem_;
  std::vector<std::unique_ptr<Device>> devices_;
  int cards_of_host_ = 1;
  std::vector<int> cards_;  // which of the machine's each device is
  std::vector<std::unique_ptr<Stream>> default_streams_;
};

}  // namespace virtual_gpu
