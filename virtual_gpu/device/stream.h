// Streams, events and graphs. Work is done the moment it is issued, or when the host waits for it
// (Note [Late events]); so a stream holds only what that and capturing need: which capture it
// belongs to and after which nodes the next one comes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <vector>

#include "virtual_gpu/device/pending.h"
#include "virtual_gpu/device/status.h"

namespace virtual_gpu {

enum class NodeKind { kKernel, kCopy, kSet, kHost };

struct Node {
  NodeKind kind;
  uint64_t flops;            // of a matrix product
  std::vector<Node*> after;  // dependencies
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  uint64_t kernels() const;
  uint64_t flops() const;
};

enum class CaptureMode { kGlobal, kThreadLocal, kRelaxed };

struct Stream;

struct Capture {
  uint64_t id;
  CaptureMode mode;
  std::thread::id thread;
  Stream* origin;
  std::unique_ptr<Graph> graph;
  std::unordered_set<Stream*> streams;  // the origin and all that forked from it
  bool valid = true;
};

struct Stream {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  StreamSlot slot = 0;
  Capture* capture = nullptr;
  std::vector<Node*> leaves;  // the next captured node comes after these
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  uint64_t capture_id = 0;    // 0 = recorded outside of a capture
  std::vector<Node*> leaves;  // of the recording stream
  Moment moment;              // with late events: what it comes after
};

// What a program may ask about the capture of a stream.
struct CaptureInfo {
  uint64_t id;
  bool valid;
  Graph* graph;
  const std::vector<Node*>* leaves;  // of the stream
};

// Every stream, event, capture and graph of the process. Thread-safe; what a Stream and an Event
// hold of captures and records is read and written here alone.
class Streams {
 public:
  // With late events work is done when the host waits for it. Before any stream is made.
  void make_late(std::chrono::milliseconds quiet = Askers::kQuiet);
  bool is_late() const { return is_late_; }
  // The process ends: all is done. Waits, for so long at most, until those who only ask have heard
  // it.
  void end_late(std::chrono::milliseconds most);

  Stream* create(int device, unsigned flags, int priority);
  // The device's own, which nobody destroys.
  std::unique_ptr<Stream> create_default(int device);
  // Breaks the capture it is part of, and ends the one that began on it: nobody else can.
  Status destroy(Stream* stream);
  Event* create_event(int device, unsigned flags);
  Status destroy_event(Event* event);

  Status begin(Stream& stream, CaptureMode mode);
  // The graph is the caller's; nullptr with an error.
  Status end(Stream& stream, std::unique_ptr<Graph>* graph);

  // One piece of work on the stream: a node when it is being captured, else nothing, or with late
  // events what is to be waited for. True when it was captured: then it has not run.
  bool issue(Stream& stream, NodeKind kind, uint64_t flops);
  void record(Event& event, const Stream& stream);
  Status wait(Stream& stream, const Event& event);  // forks into, or joins, a capture
  // Milliseconds between two records; nullopt when one has not been recorded.
  std::optional<float> milliseconds(const Event& first, const Event& last) const;
  std::optional<CaptureInfo> capture_of(const Stream& stream) const;

  // The host waits for this stream or event. An error while it is captured.
  Status synchronize(Stream& stream);
  Status synchronize(const Event& event);
  void synchronize_device(int device);
  // The host asks about it: also kNotReady, with late events.
  Status query(Stream& stream);
  Status query(const Event& event);
  // A call that a stream does not take while it is captured, and that waits for nothing.
  Status host_call(Stream& stream);
  // A call that may not happen while a capture is watched (cudaMalloc, cudaDeviceSynchronize).
  Status unsafe_call();

  bool any_capture() const { return captures_active_.load(std::memory_order_relaxed) != 0; }
  // Whether issue() has anything to do: a launch asks no more than this.
  bool notes_work() const { return noting_.load(std::memory_order_relaxed) != 0; }
  static CaptureMode exchange_thread_mode(CaptureMode mode);

 private:
  Capture* find_capture(uint64_t id) const;
  void drop(Capture& capture);
  Status host_call(const Event& event);
  Status ask(Moment moment);

  mutable std::mutex mutex_;
  std::unordered_set<const Stream*> streams_;
  std::unordered_set<const Event*> events_;
  std::vector<std::unique_ptr<Capture>> captures_;
  std::atomic<int> captures_active_{0};
  std::atomic<int> noting_{0};  // captures, and one for late events
  bool is_late_ = false;
  PendingWork pending_;
  Askers askers_;
  bool is_over_ = false;
  std::unordered_set<const Event*> refused_;  // to threads that only ask, at their last question
  std::condition_variable heard_;
  uint64_t next_stream_id_ = 1;
  uint64_t next_capture_id_ = 1;
};

}  // namespace virtual_gpu
