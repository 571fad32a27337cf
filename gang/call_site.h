// Where a call is in a program's source.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace gang {

// The place of a call, as a value of two words, which every call passes on. By default made from
// the compiler's source location; program files and foreign front ends make one from an explicit
// file and line.
//
// The texts are borrowed and must outlive every gang and report of the run (string literals do; a
// program file keeps its own). None is null.
class CallSite {
 public:
  // Unknown: no file, line 0.
  constexpr CallSite() noexcept = default;

  // The place of the call that uses this as a default argument.
  static CallSite here(std::source_location location = std::source_location::current()) noexcept {
    return CallSite(std::bit_cast<const char*>(location), location.line(), Form::compiled);
  }

  // An explicit place, for front ends that interpret a program. No file: null or "".
  static constexpr CallSite at(const char* file, std::uint32_t line) noexcept {
    return CallSite(file == nullptr ? "" : file, line, Form::file);
  }

  // The same with the function that it is in. `texts`: the file, a NUL, and the function.
  static constexpr CallSite in_function(const char* texts, std::uint32_t line) noexcept {
    return CallSite(texts, line, Form::file_and_function);
  }

  constexpr const char* file() const noexcept {
    return form() == Form::compiled ? location().file_name() : text_;
  }
  constexpr std::uint32_t line() const noexcept {
    return static_cast<std::uint32_t>(line_and_form_ >> 32);
  }
  // "void train(gang::Gang&)"; empty if not known.
  constexpr const char* function() const noexcept {
    if (form() == Form::compiled) return location().function_name();
    return form() == Form::file ? "" : text_ + std::string_view(text_).size() + 1;
  }

  // A copy, made word by word.
  constexpr CallSite in_words() const noexcept {
    CallSite copy;
    copy.text_ = text_;
    copy.line_and_form_ = line_and_form_;
    return copy;
  }

  // Compares texts, not pointers: equal literals of two source files are two places in memory.
  friend constexpr bool operator==(const CallSite& a, const CallSite& b) noexcept {
    return a.line() == b.line() && std::string_view(a.file()) == b.file() &&
           std::string_view(a.function()) == b.function();
  }

  // The same at a glance: false also for most equal ones that were made at different places.
  friend bool is_same_object(const CallSite& a, const CallSite& b) noexcept {
    return a.text_ == b.text_ && a.line_and_form_ == b.line_and_form_;
  }

 private:
  enum class Form : std::uint32_t { file, file_and_function, compiled };

  constexpr CallSite(const char* text, std::uint32_t line, Form form) noexcept
      : text_(text), line_and_form_(std::uint64_t{line} << 32 | static_cast<std::uint64_t>(form)) {}

  constexpr Form form() const noexcept {
    return static_cast<Form>(static_cast<std::uint32_t>(line_and_form_));
  }
  std::source_location location() const noexcept {
    return std::bit_cast<std::source_location>(text_);
  }

  // Two words, each read and written at once. Were they made of parts, a call that passes them on
  // would wait until its own parts have reached memory.
  const char* text_ = "";            // Form::compiled: the words of a source_location
  std::uint64_t line_and_form_ = 0;  // Form::file
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
