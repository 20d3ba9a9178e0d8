#include "bench/dryrun/breakdown/cpp/cpp_function.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(CppFunction, ANameHasNeitherArgumentsNorAnonymousNamespaces) {
  EXPECT_EQ(short_function("(anonymous namespace)::Net::forward(at::Tensor const&)"),
            "Net::forward");
  EXPECT_EQ(short_function("train((anonymous namespace)::Net&)"), "train");
  EXPECT_EQ(short_function("main::{lambda()#1}::operator()() const"), "main");
  EXPECT_EQ(short_function("step() [clone .cold]"), "step");
  EXPECT_EQ(short_function("Gather::operator()(int)"), "Gather::operator()");
  EXPECT_EQ(short_function("operator()"), "operator()");
  EXPECT_EQ(short_function("forward"), "forward");
  EXPECT_EQ(short_function("{lambda()#1}"), "{lambda()#1}") << "nothing else is known";
}

TEST(CppFunction, TemplatesOfLibrariesAreNotTheProgramsThoughTheyLieInIt) {
  for (const char* const symbol :
       {"", "_start", "at::Tensor::cuda() const", "std::vector<int>::~vector()",
        "void at::native::fill<my::Net>(my::Net&)",
        "torch::nn::ModuleHolder<my::Net>::operator()(at::Tensor)"}) {
    EXPECT_TRUE(is_of_library(symbol)) << symbol;
  }
  for (const char* const symbol :
       {"main", "my::Net::forward(at::Tensor const&)", "void my::train<at::Tensor>(int)"}) {
    EXPECT_FALSE(is_of_library(symbol)) << symbol;
  }
}

TEST(CppFunction, HeadersOfLibtorchAndOfTheCompilerAreNotTheProgramsFiles) {
  for (const char* const file :
       {"/opt/libtorch/include/ATen/core/TensorBody.h", "/usr/include/c++/12/bits/std_function.h",
        "/v/torch/include/torch/csrc/api/include/torch/nn/pimpl.h"}) {
    EXPECT_TRUE(is_library_header(file)) << file;
  }
  EXPECT_FALSE(is_library_header("/home/me/torch/train.cpp"));
  EXPECT_FALSE(is_library_header("model/include/net.h"));
}

}  // namespace
}  // namespace headroom
