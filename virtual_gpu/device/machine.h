// All virtual cards of this process. Made at the first CUDA call from the environment:
//   HEADROOM_VIRTUAL_CARD    the card, as virtual_gpu/device/card.h reads it
//   HEADROOM_VIRTUAL_COUNT   number of cards; default 1
//   HEADROOM_VIRTUAL_REPORT  prefix of the report that is written at exit: <prefix>.<pid>.json
//   HEADROOM_VIRTUAL_READS   expected: reads of values are not reported (a loop of them is)
//   HEADROOM_VIRTUAL_EVENTS  done or late: when work is done, Note [Late events]; default done
//   CUDA_VISIBLE_DEVICES     as the driver reads it: ordinals, or UUIDs of virtual cards
//                            (`headroom` removes the shell's, which means real cards)
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/memory/contents.h"
#include "virtual_gpu/device/memory/host_memory.h"
#include "virtual_gpu/device/memory/mapping.h"
#include "virtual_gpu/device/streams/stream.h"

// Writes the state of libtorch's allocator to <stem>.torch.json, unless that exists; defined by the
// observer if it is preloaded (bench/dryrun/observer.cpp), else null.
extern "C" __attribute__((weak)) void headroom_observe(const char* stem);

// Called once per process, at its first use of CUDA, with the stem of its reports ("" = none);
// defined in virtual_gpu/report/ending_signal.cpp, null in tests of the device alone.
extern "C" __attribute__((weak)) void virtual_gpu_machine_made(const char* stem);

namespace virtual_gpu {

// The number of cards that the environment describes. Throws std::invalid_argument if that is no
// number from 1 to Machine::kMostDevices.
int cards_of_machine();

class Machine {
 public:
  static constexpr int kMostDevices = 64;

  // The process's machine. Never destroyed: libraries free memory in their exit handlers. After a
  // bad description it has no devices, and one line on stderr gave the reason.
  static Machine& get();
  // True in the process that made the machine, false in its children: after fork they have a copy
  // of the machine, after vfork, until they exec, the machine itself.
  static bool is_of_this_process();
  // True in a process that was forked after a use of CUDA: every call fails there, as on a card.
  static bool forked();

  // All cards of the machine, those hidden from this process too.
  int cards_of_host() const { return cards_of_host_; }
  int count() const { return static_cast<int>(devices_.size()); }
  Device& device(int ordinal) { return *devices_[static_cast<size_t>(ordinal)]; }
  // The UUID of get_device_properties(); belongs to the card, whatever its number here.
  std::array<char, 16> uuid(int ordinal) const;
  // The number of a visible card among all cards of the host.
  int card_of_host(int ordinal) const { return cards_[static_cast<size_t>(ordinal)]; }
  // The calling thread's device.
  static int current();
  static void set_current(int ordinal);
  Device& here() { return device(current()); }

  // nullptr and the two special handles are the current device's default stream.
  Stream& stream(const void* handle);

  // The device that owns this memory; nullptr if it is not device memory.
  Device* owner(uint64_t address);

  // The path of the process's reports without ".json": "<prefix>.<pid>"; for the second program
  // that uses CUDA in one process (exec) "<prefix>.<pid>.2" and so on. "" if reports are off.
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
  std::vector<int> cards_;  // each device's number on the machine
  std::vector<std::unique_ptr<Stream>> default_streams_;
};

}  // namespace virtual_gpu
