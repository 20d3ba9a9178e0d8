// The result of a call on the virtual card. The stand-ins for NVIDIA's libraries translate it into
// each library's own error codes.
#pragma once

namespace virtual_gpu {

enum class Status {
  kOk,
  kOutOfMemory,         // beyond the card's capacity
  kInvalidValue,        // not a known address, size or handle
  kInvalidHandle,       // not a stream, event or graph
  kCaptureUnsupported,  // not allowed while a stream is being captured
  kCaptureInvalidated,  // such a call broke the capture
  kCaptureUnjoined,     // a stream forked into the capture was not joined back
  kCaptureIsolation,    // an event of a capture used outside of it
  kIllegalState,        // begun twice, or ended without a begin
  kNotReady,            // issued, but the host has not waited for it
};

}  // namespace virtual_gpu
