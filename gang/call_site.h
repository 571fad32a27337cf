// Where a call is in a program's source.
#pragma once

#include <compare>
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

// A call site that owns its texts, for reports, which outlive the program. A value.
struct SourceLocation {
  std::string file;        // the whole path, as the compiler or the front end gave it
  std::uint32_t line = 0;  // 0: not known
  std::string function;    // "void train(gang::Gang&)"; empty if not known

  // Whether there is none: no call, or nothing that says where it is.
  bool empty() const noexcept { return file.empty() && function.empty(); }

  friend auto operator<=>(const SourceLocation&, const SourceLocation&) = default;
};

// Owns what `call_site` borrows. Its file is "unknown" if that has none.
SourceLocation location_of(const CallSite& call_site);

// "train.cc:41", as of its call site: "unknown" for that file, empty without a file.
std::string to_string(const SourceLocation& location);

// What such a text tells: a file and a line, or else the whole text as the file.
SourceLocation parse_source_location(std::string_view text);

// Whether both are one line of one file; two instances of a template differ in the function only.
bool is_same_line(const SourceLocation& a, const SourceLocation& b) noexcept;

}  // namespace gang
