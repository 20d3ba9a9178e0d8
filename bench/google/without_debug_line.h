// Removes Google Benchmark's warning about a DEBUG build from stderr. Debian's package is always
// built that way; it adds a call per iteration of the loop to a measurement, and an iteration is a
// whole step.
#pragma once

#include <iostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace headroom {

// During its lifetime std::cerr forwards every other line.
class WithoutDebugLine : public std::streambuf {
 public:
  WithoutDebugLine() : whole_(std::cerr.rdbuf(this)) {}
  ~WithoutDebugLine() override {
    pass_on();
    std::cerr.rdbuf(whole_);
  }
  WithoutDebugLine(const WithoutDebugLine&) = delete;
  WithoutDebugLine& operator=(const WithoutDebugLine&) = delete;

 protected:
  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof()))
      return traits_type::not_eof(character);
    line_ += traits_type::to_char_type(character);
    if (line_.back() == '\n') pass_on();
    return character;
  }
  int sync() override {
    if (!line_.starts_with(kLine)) pass_on();
    return whole_->pubsync();
  }

 private:
  static constexpr std::string_view kLine = "***WARNING*** Library was built as DEBUG";
  void pass_on() {
    if (!line_.starts_with(kLine))
      whole_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
    line_.clear();
  }

  std::streambuf* const whole_;
  std::string line_;
};

}  // namespace headroom
