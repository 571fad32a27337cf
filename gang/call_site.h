// Where a call is in a program's source.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace gang {

// The place of a call, as a value. By default made from the compiler's source location; program
// files and foreign front ends make one from an explicit file and line.
//
// The texts are borrowed and must outlive every gang and report of the run (string literals do; a
// program file keeps its own).
struct CallSite {
  const char* file = "";
  const char* function = "";
  std::uint32_t line = 0;

  // The place of the call that uses this as a default argument.
  static constexpr CallSite here(
      std::source_location location = std::source_location::current()) noexcept {
    return {location.file_name(), location.function_name(), location.line()};
  }

  // An explicit place, for front ends that interpret a program.
  static constexpr CallSite at(const char* file, std::uint32_t line) noexcept {
    return {file, "", line};
  }

  // Compares texts, not pointers: equal literals of two source files are two places in memory.
  friend constexpr bool operator==(const CallSite& a, const CallSite& b) noexcept {
    return a.line == b.line && text_of(a.file) == text_of(b.file) &&
           text_of(a.function) == text_of(b.function);
  }

 private:
  static constexpr std::string_view text_of(const char* text) noexcept {
    return text == nullptr ? std::string_view() : std::string_view(text);
  }
};

// "train.cc:41": the last component of the file, a colon and the line; "unknown" without a file.
std::string to_string(const CallSite& call_site);

}  // namespace gang
