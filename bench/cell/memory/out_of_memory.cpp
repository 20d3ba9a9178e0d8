#include "bench/cell/memory/out_of_memory.h"

#include <exception>
#include <new>

#include "bench/cell/machine/device.h"
#include "files/mapped_file.h"
#include "files/replace_file.h"
#include "model/attention_kernel/forced_kernel.h"
#include "model/torch.h"
#include "text/quantity.h"
#include "train/settings/device/address_limit.h"

namespace headroom {
namespace {

// libtorch's errors carry a backtrace after the first line.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Failure out_of_memory(const std::string& text) {
  const size_t advice = text.find(" If reserved but unallocated memory is large");
  if (advice == std::string::npos) return {Status::kOom, text, ""};
  return {Status::kOom, text.substr(0, advice), text.substr(advice + 1)};
}

// A failed CPU allocation is a plain c10::Error, and libraries report theirs as text.
bool says_out_of_memory(const std::string& text) {
  for (const char* sign :
       {"DefaultCPUAllocator: can't allocate memory", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED",
        "CUDNN_STATUS_ALLOC_FAILED", "Failed to CUDA calloc"}) {  // the last is NCCL's
    if (text.find(sign) != std::string::npos) return true;
  }
  return false;
}

Failure from_text(const std::string& text) {
  const std::string line = first_line(text);
  if (says_out_of_memory(text)) return {Status::kOom, line, ""};
  // A failed thread start or late library load does not name the missing resource.
  const std::string limit = address_limit_in_words();
  return {Status::kFailed, limit.empty() ? line : line + " (" + limit + ")", ""};
}

}  // namespace

Failure current_failure() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const UnsupportedDevice& error) {
    return {Status::kUnsupported, first_line(error.what()), ""};
  } catch (const UnsupportedAttention& error) {
    return {Status::kUnsupported, first_line(error.what()), ""};
  } catch (const UsageError& error) {
    return {Status::kUsage, first_line(error.what()), ""};
  } catch (const WriteError& error) {
    return {Status::kUnwritable, first_line(error.what()), ""};
  } catch (const ReadError& error) {  // states in files
    return {Status::kUnwritable, first_line(error.what()), ""};
  } catch (const c10::OutOfMemoryError& error) {
    return out_of_memory(first_line(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return from_text(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return {Status::kOom, "host memory: std::bad_alloc", ""};
  } catch (const std::exception& error) {
    return from_text(error.what());
  }
}

}  // namespace headroom
