// Streams, events and graphs. Work is done when issued, or when the host waits for it (Note [Late
// events]). So a stream stores only the state for that and for capturing: its capture, and the
// nodes that the next one depends on.
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

#include "virtual_gpu/device/status.h"
#include "virtual_gpu/device/streams/pending.h"
#include "virtual_gpu/device/streams/watchdog.h"

namespace virtual_gpu {

enum class NodeKind { kKernel, kCopy, kSet, kHost };

struct Node {
  NodeKind kind;
  uint64_t flops;            // of a matrix product; else 0
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
  std::unordered_set<Stream*> streams;  // the origin and all streams forked from it
  bool valid = true;
};

struct Stream {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  StreamSlot slot = 0;
  Capture* capture = nullptr;
  std::vector<Node*> leaves;  // the next captured node depends on these
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  uint64_t capture_id = 0;    // 0 = recorded outside of a capture
  std::vector<Node*> leaves;  // of the recording stream
  Moment moment;              // with late events: the work it depends on
};

// The state of a stream's capture that a program may query.
struct CaptureInfo {
  uint64_t id;
  bool valid;
  Graph* graph;
  const std::vector<Node*>* leaves;  // the stream's
};

// Every stream, event, capture and graph of the process. Thread-safe; only this class accesses the
// captures and records of a Stream and an Event.
class Streams {
 public:
  // With late events work is done when the host waits for it. Call before making any stream.
  void make_late(std::chrono::milliseconds quiet = PollingThreads::kQuiet);
  bool is_late() const { return is_late_; }
  // At exit: all work is done. Waits, for `most` at most, until threads that only query have had
  // that answer.
  void end_late(std::chrono::milliseconds most);

  Stream* create(int device, unsigned flags, int priority);
  // The device's default stream, which is never destroyed.
  std::unique_ptr<Stream> create_default(int device);
  // Breaks the stream's capture, and ends it if it began there: no other stream can.
  Status destroy(Stream* stream);
  Event* create_event(int device, unsigned flags);
  Status destroy_event(Event* event);

  Status begin(Stream& stream, CaptureMode mode);
  // The caller owns the graph; nullptr with an error.
  Status end(Stream& stream, std::unique_ptr<Graph>* graph);

  // One piece of work on the stream: a node during capture; otherwise nothing, or with late events
  // pending work. True if it was captured: then it has not run.
  bool issue(Stream& stream, NodeKind kind, uint64_t flops);
  // Counts a collective among the issued work: Note [A watchdog's period].
  void collective() { watchdog_.collective(); }
  void record(Event& event, const Stream& stream);
  Status wait(Stream& stream, const Event& event);  // forks into, or joins, a capture
  // Milliseconds between two records; nullopt if one has not been recorded.
  std::optional<float> milliseconds(const Event& first, const Event& last) const;
  std::optional<CaptureInfo> capture_of(const Stream& stream) const;

  // The host waits for this stream or event. An error during capture.
  Status synchronize(Stream& stream);
  Status synchronize(const Event& event);
  void synchronize_device(int device);
  // The host queries it: also kNotReady, with late events.
  Status query(Stream& stream);
  Status query(const Event& event);
  // A call that waits for nothing and that a capturing stream refuses.
  Status host_call(Stream& stream);
  // A call that a capture forbids by its mode (cudaMalloc, cudaDeviceSynchronize).
  Status unsafe_call();

  bool any_capture() const { return captures_active_.load(std::memory_order_relaxed) != 0; }
  // True if issue() has anything to do; a launch checks only this.
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
  std::atomic<int> noting_{0};  // number of captures, plus one for late events
  bool is_late_ = false;
  PendingWork pending_;
  PollingThreads polling_;
  Watchdog watchdog_;
  bool is_over_ = false;
  std::unordered_set<const Event*> refused_;  // last query refused, by threads that only query
  std::condition_variable heard_;
  uint64_t next_stream_id_ = 1;
  uint64_t next_capture_id_ = 1;
};

}  // namespace virtual_gpu
