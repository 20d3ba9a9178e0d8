// What a call on the virtual card came to. The files that stand in for NVIDIA's libraries translate
// it into each library's own error codes.
#pragma once

namespace virtual_gpu {

enum class Status {
  kOk,
  kOutOfMemory,         // beyond the card's capacity
  kInvalidValue,        // not an address, size or handle of ours
  kInvalidHandle,       // a stream, event or graph that is none
  kCaptureUnsupported,  // not allowed while a stream is being captured
  kCaptureInvalidated,  // the capture was broken by such a call
  kCaptureUnjoined,     // a stream forked into the capture was not joined back
  kCaptureIsolation,    // an event of a capture used outside of it
  kIllegalState,        // begun twice, ended without a beginning
  kNotReady,            // issued, and the host has not waited for it
};

}  // namespace virtual_gpu
