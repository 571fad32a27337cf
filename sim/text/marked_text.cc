#include "sim/text/marked_text.h"

#include "gang/visible_text.h"
#include "sim/text/text_layout.h"

namespace gang::sim {
namespace {

constexpr std::size_t advice_column = 13;

std::string padding_after(std::string_view name) {
  const std::size_t width = 2 + column_count(name);
  return std::string(width + 2 <= advice_column ? advice_column - width : 2, ' ');
}

}  // namespace

void MarkedText::add(std::string_view text, TextRole role) {
  if (text.empty()) return;
  const std::string shown = visible(text, LineBreaks::kept);
  if (!spans_.empty() && spans_.back().role == role)
    spans_.back().text += shown;
  else
    spans_.push_back({shown, role});
}

void MarkedText::add(const MarkedText& text) {
  for (const TextSpan& span : text.spans_) add(span.text, span.role);
}

void MarkedText::add_advice(std::string_view name, std::string_view text) {
  const std::string lines = wrapped(text, std::string(advice_column, ' '));
  if (lines.empty()) return;
  add("  ");
  add(name, TextRole::strong);
  add(padding_after(name));
  add(std::string_view(lines).substr(advice_column));
}

void MarkedText::add_command(std::string_view name, std::string_view command) {
  add("  ");
  add(name, TextRole::strong);
  add(padding_after(name));
  add(command);
  add("\n");
}

std::string plain_text(const MarkedText& text) {
  std::string plain;
  for (const TextSpan& span : text.spans()) plain += span.text;
  return plain;
}

}  // namespace gang::sim
