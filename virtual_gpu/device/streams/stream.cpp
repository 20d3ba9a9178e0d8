#include "virtual_gpu/device/streams/stream.h"

#include <algorithm>
#include <utility>

namespace virtual_gpu {
namespace {

thread_local CaptureMode thread_mode = CaptureMode::kGlobal;
constexpr unsigned kNonBlockingFlag = 1;  // cudaStreamNonBlocking

}  // namespace

uint64_t Graph::kernels() const {
  return static_cast<uint64_t>(std::count_if(nodes.begin(), nodes.end(), [](const auto& node) {
    return node->kind == NodeKind::kKernel;
  }));
}

uint64_t Graph::flops() const {
  uint64_t sum = 0;
  for (const auto& node : nodes) sum += node->flops;
  return sum;
}

void Streams::make_late(std::chrono::milliseconds quiet) {
  const std::lock_guard lock(mutex_);
  if (is_late_) return;
  is_late_ = true;
  polling_ = PollingThreads(quiet);
  noting_.fetch_add(1);
}

Stream* Streams::create(int device, unsigned flags, int priority) {
  const std::lock_guard lock(mutex_);
  auto* stream =
      new Stream{.device = device, .flags = flags, .priority = priority, .id = next_stream_id_++};
  const bool is_blocking = (flags & kNonBlockingFlag) == 0;
  stream->slot =
      pending_.add_stream(device, is_blocking ? StreamKind::kBlocking : StreamKind::kNonBlocking);
  streams_.insert(stream);
  return stream;
}

std::unique_ptr<Stream> Streams::create_default(int device) {
  const std::lock_guard lock(mutex_);
  const StreamSlot slot = pending_.add_stream(device, StreamKind::kDefault);
  return std::make_unique<Stream>(Stream{.device = device, .slot = slot});
}

Status Streams::destroy(Stream* stream) {
  const std::lock_guard lock(mutex_);
  if (streams_.erase(stream) == 0) return Status::kInvalidHandle;
  pending_.remove_stream(stream->slot);
  if (Capture* capture = stream->capture; capture != nullptr) {
    capture->valid = false;
    capture->streams.erase(stream);
    if (capture->origin == stream) drop(*capture);
  }
  delete stream;
  return Status::kOk;
}

Event* Streams::create_event(int device, unsigned flags) {
  const std::lock_guard lock(mutex_);
  auto* event = new Event{.device = device, .flags = flags};
  events_.insert(event);
  return event;
}

Status Streams::destroy_event(Event* event) {
  const std::lock_guard lock(mutex_);
  if (events_.erase(event) == 0) return Status::kInvalidHandle;
  if (refused_.erase(event) > 0) heard_.notify_all();
  delete event;
  return Status::kOk;
}

Capture* Streams::find_capture(uint64_t id) const {
  const auto found = std::find_if(captures_.begin(), captures_.end(),
                                  [id](const auto& capture) { return capture->id == id; });
  return found == captures_.end() ? nullptr : found->get();
}

void Streams::drop(Capture& capture) {
  for (Stream* member : capture.streams) {
    member->capture = nullptr;
    member->leaves.clear();
  }
  captures_.erase(std::find_if(captures_.begin(), captures_.end(),
                               [&](const auto& one) { return one.get() == &capture; }));
  captures_active_.fetch_sub(1);
  noting_.fetch_sub(1);
}

Status Streams::begin(Stream& stream, CaptureMode mode) {
  const std::lock_guard lock(mutex_);
  if (stream.capture != nullptr) return Status::kIllegalState;
  auto capture = std::make_unique<Capture>();
  capture->id = next_capture_id_++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->graph = std::make_unique<Graph>();
  capture->streams.insert(&stream);
  stream.capture = capture.get();
  stream.leaves.clear();
  captures_.push_back(std::move(capture));
  captures_active_.fetch_add(1);
  noting_.fetch_add(1);
  return Status::kOk;
}

Status Streams::end(Stream& stream, std::unique_ptr<Graph>* graph) {
  const std::lock_guard lock(mutex_);
  Capture* capture = stream.capture;
  if (capture == nullptr || capture->origin != &stream) return Status::kIllegalState;
  // A forked stream was not joined if no work of the origin comes after its last work.
  bool joined = true;
  for (Stream* member : capture->streams) {
    for (Node* leaf : member->leaves) {
      const auto& last = stream.leaves;
      const bool followed = std::any_of(
          capture->graph->nodes.begin(), capture->graph->nodes.end(), [leaf](const auto& node) {
            return std::count(node->after.begin(), node->after.end(), leaf) != 0;
          });
      joined &= followed || std::count(last.begin(), last.end(), leaf) != 0;
    }
  }
  const bool valid = capture->valid;
  if (valid && joined) *graph = std::move(capture->graph);
  drop(*capture);
  if (!valid) return Status::kCaptureInvalidated;
  return joined ? Status::kOk : Status::kCaptureUnjoined;
}

bool Streams::issue(Stream& stream, NodeKind kind, uint64_t flops) {
  if (!notes_work()) return false;
  const std::lock_guard lock(mutex_);
  if (stream.capture == nullptr) {
    if (!is_late_) return false;
    pending_.issue(stream.slot);
    polling_.issued();
    return false;
  }
  auto node = std::make_unique<Node>(Node{.kind = kind, .flops = flops, .after = stream.leaves});
  stream.leaves = {node.get()};
  stream.capture->graph->nodes.push_back(std::move(node));
  return true;
}

void Streams::record(Event& event, const Stream& stream) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  event.recorded = true;
  event.time = now;
  event.capture_id = stream.capture == nullptr ? 0 : stream.capture->id;
  event.leaves = stream.leaves;
  event.moment = is_late_ && stream.capture == nullptr ? pending_.now(stream.slot) : Moment();
}

std::optional<float> Streams::milliseconds(const Event& first, const Event& last) const {
  const std::lock_guard lock(mutex_);
  if (!first.recorded || !last.recorded) return std::nullopt;
  return std::chrono::duration<float, std::milli>(last.time - first.time).count();
}

std::optional<CaptureInfo> Streams::capture_of(const Stream& stream) const {
  if (!any_capture()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const Capture* capture = stream.capture;
  if (capture == nullptr) return std::nullopt;
  return CaptureInfo{.id = capture->id,
                     .valid = capture->valid,
                     .graph = capture->graph.get(),
                     .leaves = &stream.leaves};
}

Status Streams::wait(Stream& stream, const Event& event) {
  if (!notes_work()) return Status::kOk;
  const std::lock_guard lock(mutex_);
  if (event.capture_id == 0) {
    if (stream.capture == nullptr && is_late_) pending_.wait(stream.slot, event.moment);
    if (stream.capture == nullptr || !event.recorded) return Status::kOk;
    stream.capture->valid = false;
    return Status::kCaptureIsolation;
  }
  Capture* capture = find_capture(event.capture_id);
  if (capture == nullptr) return Status::kOk;  // it has ended
  if (stream.capture != nullptr && stream.capture != capture) {
    capture->valid = stream.capture->valid = false;
    return Status::kCaptureIsolation;
  }
  stream.capture = capture;
  capture->streams.insert(&stream);
  for (Node* leaf : event.leaves) {
    if (std::count(stream.leaves.begin(), stream.leaves.end(), leaf) == 0) {
      stream.leaves.push_back(leaf);
    }
  }
  return Status::kOk;
}

Status Streams::host_call(Stream& stream) {
  if (!any_capture()) return Status::kOk;
  const std::lock_guard lock(mutex_);
  if (stream.capture == nullptr) return Status::kOk;
  stream.capture->valid = false;
  return Status::kCaptureUnsupported;
}

Status Streams::host_call(const Event& event) {
  if (!any_capture()) return Status::kOk;
  const std::lock_guard lock(mutex_);
  if (event.capture_id == 0) return Status::kOk;
  Capture* capture = find_capture(event.capture_id);
  if (capture == nullptr) return Status::kOk;
  capture->valid = false;
  return Status::kCaptureUnsupported;
}

Status Streams::synchronize(Stream& stream) {
  const Status status = host_call(stream);
  if (status != Status::kOk) return status;
  watchdog_.host_wait(is_late_);
  if (!is_late_) return Status::kOk;
  const std::lock_guard lock(mutex_);
  pending_.complete(pending_.now(stream.slot));
  return Status::kOk;
}

Status Streams::synchronize(const Event& event) {
  const Status status = host_call(event);
  if (status != Status::kOk) return status;
  watchdog_.host_wait(is_late_);
  if (!is_late_) return Status::kOk;
  const std::lock_guard lock(mutex_);
  pending_.complete(event.moment);
  return Status::kOk;
}

void Streams::synchronize_device(int device) {
  watchdog_.host_wait(is_late_);
  if (!is_late_) return;
  const std::lock_guard lock(mutex_);
  pending_.complete_device(device);
}

Status Streams::query(Stream& stream) {
  const Status status = host_call(stream);
  if (status != Status::kOk || !is_late_) return status;
  const std::lock_guard lock(mutex_);
  return ask(pending_.now(stream.slot));
}

Status Streams::query(const Event& event) {
  watchdog_.query();
  const Status status = host_call(event);
  if (status != Status::kOk || !is_late_) return status;
  const std::lock_guard lock(mutex_);
  const Status answer = ask(event.moment);
  if (answer == Status::kOk) {
    if (refused_.erase(&event) > 0) heard_.notify_all();
  } else if (PollingThreads::only_asks()) {
    refused_.insert(&event);
  }
  return answer;
}

void Streams::end_late(std::chrono::milliseconds most) {
  // Time for the effects of an answer: a collective frees its memory.
  constexpr auto kAfterwards = std::chrono::milliseconds(50);
  {
    std::unique_lock lock(mutex_);
    is_over_ = true;
    if (refused_.empty()) return;
    heard_.wait_for(lock, most, [this] { return refused_.empty(); });
  }
  std::this_thread::sleep_for(kAfterwards);
}

Status Streams::ask(Moment moment) {
  if (is_over_ || pending_.is_done(moment)) return Status::kOk;
  if (!polling_.may_end()) return Status::kNotReady;
  pending_.complete(moment);
  return Status::kOk;
}

// The rule of cudaThreadExchangeStreamCaptureMode, CUDA runtime API.
Status Streams::unsafe_call() {
  if (!any_capture() || thread_mode == CaptureMode::kRelaxed) return Status::kOk;
  const std::lock_guard lock(mutex_);
  Status status = Status::kOk;
  for (const auto& capture : captures_) {
    const bool own = capture->thread == std::this_thread::get_id();
    const bool watched =
        own ? capture->mode != CaptureMode::kRelaxed
            : capture->mode == CaptureMode::kGlobal && thread_mode == CaptureMode::kGlobal;
    if (!watched) continue;
    capture->valid = false;
    status = Status::kCaptureUnsupported;
  }
  return status;
}

CaptureMode Streams::exchange_thread_mode(CaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

}  // namespace virtual_gpu
