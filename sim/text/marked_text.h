// Text whose headings and values are marked, for output that can show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gang::sim {

enum class TextRole : std::uint8_t {
  plain,
  good_verdict,
  bad_verdict,
  strong,  // names of findings and of advice
  faint,   // titles of columns, what was run
};

struct TextSpan {
  std::string text;
  TextRole role = TextRole::plain;

  friend bool operator==(const TextSpan&, const TextSpan&) = default;
};

// Spans, one after the other. A value.
class MarkedText {
 public:
  void add(std::string_view text, TextRole role = TextRole::plain);
  void add(const MarkedText& text);

  // "  Fix        name the source": a name, and its text from the 13th column on, wrapped there.
  void add_advice(std::string_view name, std::string_view text);

  // As add_advice, but a command is not broken into lines.
  void add_command(std::string_view name, std::string_view command);

  const std::vector<TextSpan>& spans() const noexcept { return spans_; }

 private:
  std::vector<TextSpan> spans_;
};

// The text without its roles.
std::string plain_text(const MarkedText& text);

}  // namespace gang::sim
