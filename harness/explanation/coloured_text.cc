#include "harness/explanation/coloured_text.h"

#include <array>
#include <cstdlib>

namespace gang::harness {
namespace {

constexpr std::string_view bold_red = "\033[1;31m";
constexpr std::string_view bold_green = "\033[1;32m";
constexpr std::string_view bold = "\033[1m";
constexpr std::string_view dim = "\033[2m";
constexpr std::string_view reset = "\033[0m";

// What the report says at the end, each with its text.
constexpr std::array<std::string_view, 6> advice = {"Fix",       "Certain", "Timeout",
                                                    "Reproduce", "Look",    "Unexpected"};

std::string wrapped_in(std::string_view style, std::string_view text) {
  return std::string(style).append(text).append(reset);
}

// "DEADLOCK  cross_gang_cycle     suspect.toml, world 4, seed 1": the verdict, and the rest dim.
std::string styled_headline(std::string_view line) {
  const std::size_t end_of_word = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end_of_word);
  std::size_t run = line.rfind("  ");
  run = run == std::string_view::npos || run < end_of_word ? line.size() : run + 2;
  const std::string_view middle = line.substr(end_of_word, run - end_of_word);
  const bool has_finding = middle.find_first_not_of(' ') != std::string_view::npos;
  const bool is_good = word == "COMPLETED" && !has_finding;
  return wrapped_in(is_good ? bold_green : bold_red, word) + wrapped_in(bold, middle) +
         (run < line.size() ? wrapped_in(dim, line.substr(run)) : "");
}

std::string styled_line(std::string_view line) {
  if (line.starts_with("  rank ") && line.ends_with(" at")) return wrapped_in(dim, line);
  for (const std::string_view name : advice) {
    if (!line.starts_with("  ") || !line.substr(2).starts_with(name)) continue;
    const std::string_view rest = line.substr(2 + name.size());
    if (!rest.starts_with("  ")) continue;
    return "  " + wrapped_in(bold, name) + std::string(rest);
  }
  return std::string(line);
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

TextStyle text_style(bool is_terminal) {
  if (!is_terminal || is_set("NO_COLOR")) return TextStyle::plain;
  const char* terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return is_dumb ? TextStyle::plain : TextStyle::coloured;
}

std::string styled(std::string_view report, TextStyle style) {
  if (style == TextStyle::plain) return std::string(report);
  std::string text;
  for (std::size_t begin = 0; begin < report.size();) {
    const std::size_t end = std::min(report.find('\n', begin), report.size());
    const std::string_view line = report.substr(begin, end - begin);
    text += begin == 0 ? styled_headline(line) : styled_line(line);
    if (end < report.size()) text += '\n';
    begin = end + 1;
  }
  return text;
}

}  // namespace gang::harness
