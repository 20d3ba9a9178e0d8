#include "profiling/tracker/machinery.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace {

// The remaining frames of a stack of these functions, innermost first.
std::string left_of(const std::vector<std::string>& functions) {
  std::vector<Frame> frames;
  std::vector<int32_t> stack;
  for (const std::string& function : functions) {
    stack.push_back(static_cast<int32_t>(frames.size()));
    frames.push_back({.name = function});
  }
  std::string left;
  for (auto i = static_cast<size_t>(machinery_frames(frames, stack)); i < functions.size(); ++i) {
    left += (left.empty() ? "" : " < ") + functions[i];
  }
  return left;
}

TEST(Machinery, AnOperationBeginsWhereItsEmptyTensorEnds) {
  EXPECT_EQ(
      left_of({"torch::unwind::unwind()", "headroom::StackTable::capture()",
               "headroom::(anonymous namespace)::capture_context()",
               "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned "
               "long, CUstream_st*)",
               "at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*)",
               "at::(anonymous namespace)::create_out(c10::ArrayRef<long>)",
               "at::(anonymous namespace)::structured_ufunc_add_CUDA_functional::"
               "set_output_raw_strided(long)",
               "at::TensorIteratorBase::build(at::TensorIteratorConfig&)",
               "at::meta::structured_add_Tensor::meta(at::Tensor const&)",
               "at::_ops::add_Tensor::call(at::Tensor const&)"}),
      "at::meta::structured_add_Tensor::meta(at::Tensor const&) < "
      "at::_ops::add_Tensor::call(at::Tensor const&)");
}

TEST(Machinery, WhatCallsMachineryFromMachineryGoesWithIt) {
  EXPECT_EQ(left_of({"at::native::empty_cuda(c10::ArrayRef<long>)",
                     "c10::impl::wrap_kernel_functor_unboxed_<int>::call(int)", "??",
                     "at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>)",
                     "at::native::bmm_out_cuda(at::Tensor const&)"}),
            "at::native::bmm_out_cuda(at::Tensor const&)");
}

TEST(Machinery, WhatStandsBehindAnOperationStays) {
  const std::vector<std::string> functions = {"at::native::clone(at::Tensor const&)", "??",
                                              "at::_ops::empty_like::call(at::Tensor const&)"};
  EXPECT_EQ(left_of(functions), functions[0] + " < ?? < " + functions[2]);
}

TEST(Machinery, ArgumentsAndNamesOfOursSayNothing) {
  for (const char* function : {"headroom::Step::empty_it()", "at::cat(at::empty_tag, int)",
                               "headroom::(anonymous namespace)::previous(at::Tensor const&)"}) {
    EXPECT_EQ(left_of({"at::empty(long)", function, "main"}), std::string(function) + " < main");
  }
}

TEST(Machinery, TheOutermostFrameIsAlwaysLeft) {
  EXPECT_EQ(left_of({"at::empty(long)", "torch::empty(long)"}), "torch::empty(long)");
  EXPECT_EQ(left_of({}), "");
}

}  // namespace
}  // namespace headroom
